import { existsSync } from "node:fs";
import { type Clock, sleep } from "#lib/clock.ts";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import { ownerOfShell } from "#engines/embedded/node/linux/small-shell.ts";
import { killTree } from "#engines/embedded/node/linux/process-tree.ts";
import { identify } from "#engines/embedded/node/linux/processes.ts";
import { namesIn } from "./records.ts";

const patienceMs = 10_000;

/**
 * Waits for commands of the runtimes that an earlier life has started and that go on without it: until they are over, what they are making
 * cannot be seen as a whole. Those that a sandbox holds up would never be over, and are killed.
 */
export async function waitForStragglers(stateFolder: string, clock: Clock): Promise<void> {
  const deadline = clock.now() + patienceMs;
  while (stragglers(stateFolder).length > 0) {
    if (clock.now() > deadline) await killStragglers(stateFolder, clock);
    await sleep(clock, 10);
  }
}

async function killStragglers(stateFolder: string, clock: Clock): Promise<void> {
  const roots = stragglers(stateFolder).flatMap((pid) => identify(pid) ?? []);
  const gone = await Promise.all(roots.map((root) => killTree(root, { clock, rootIsNodes: false })));
  if (gone.includes(false)) throw new Error(`commands of an earlier life still work in ${stateFolder}, though they were killed`);
}

function stragglers(stateFolder: string): number[] {
  return namesIn("/proc").flatMap((pid) => (/^\d+$/.test(pid) && worksIn(pid, stateFolder) ? [Number(pid)] : []));
}

/** A command that works in the folder, or a shell that may yet start one because its process was killed. */
function worksIn(pid: string, stateFolder: string): boolean {
  const args = readCommandLine(pid).split("\0");
  return args[args.indexOf("--root") + 1]?.startsWith(`${stateFolder}/`) === true || isOrphanedShell(args);
}

function isOrphanedShell(commandLine: readonly string[]): boolean {
  const owner = ownerOfShell(commandLine);
  return owner !== undefined && !existsSync(`/proc/${owner}`);
}

function readCommandLine(pid: string): string {
  try {
    return readIfPresent(`/proc/${pid}/cmdline`) ?? "";
  } catch {
    // It has just ended.
    return "";
  }
}
