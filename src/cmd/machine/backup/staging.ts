/** Folders and files that a process makes beside what it will put into place. What a killed process left there is removed by the next one. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

export interface Staging extends AsyncDisposable {
  /** For its owner alone. */
  readonly folder: string;
}

/** Makes `<prefix><pid>-<random>` in `parent`, after removing those of processes that are gone. Disposing removes it. */
export async function openStaging(parent: string, prefix: string): Promise<Staging> {
  await removeLeftovers(parent, prefix);
  const folder = await mkdtemp(join(parent, `${prefix}${process.pid}-`));
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

export async function removeLeftovers(parent: string, prefix: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = name.startsWith(prefix) ? /^(\d+)-/.exec(name.slice(prefix.length))?.[1] : undefined;
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(parent, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user is there too.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
