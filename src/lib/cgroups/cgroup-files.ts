import { mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { type Clock, sleep } from "#lib/clock.ts";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import { hasCode } from "#lib/native/files.ts";

/** A file that holds one number; 0 if the group is gone. */
export function readNumber(file: string): number {
  return Number(readIfPresent(file)?.trim() ?? 0);
}

/** One value of a file of `name value` lines; 0 if it is not there. */
export function readField(file: string, name: string): number {
  const line = readIfPresent(file)
    ?.split("\n")
    .find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? 0);
}

/** Folders are groups; everything else in there is a file of the kernel. */
export function childGroups(group: string): string[] {
  try {
    return readdirSync(group, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENODEV")) return [];
    throw error;
  }
}

/** Pids of all processes in a group and below it. */
export function processesIn(group: string): readonly number[] {
  const own = (readIfPresent(join(group, "cgroup.procs")) ?? "").split("\n").filter((pid) => pid !== "");
  return [...own.map(Number), ...childGroups(group).flatMap((child) => processesIn(join(group, child)))];
}

/** Makes a group; true if it is new. */
export function makeGroup(group: string): boolean {
  return mkdirSync(group, { recursive: true }) !== undefined;
}

export interface GroupTree {
  /** The same group in each tree of the machine. */
  readonly groups: readonly string[];
  readonly clock: Clock;
  /** Sends SIGKILL to all processes of a group. */
  readonly kill: (group: string) => void;
}

const patienceMs = 5000;

/** Removes groups with all that is below them. Processes that are still there are killed and waited for. */
export async function removeGroups({ groups, clock, kill }: GroupTree): Promise<void> {
  const deadline = clock.now() + patienceMs;
  for (;;) {
    const busy = groups.filter((group) => !tryRemove(group));
    if (busy.length === 0) return;
    if (clock.now() > deadline) throw new Error(`processes do not end in ${busy.join(", ")}, though they were killed`);
    for (const group of busy) kill(group);
    await sleep(clock, 2);
  }
}

function tryRemove(group: string): boolean {
  const emptied = childGroups(group).map((child) => tryRemove(join(group, child)));
  if (emptied.includes(false)) return false;
  try {
    rmdirSync(group);
    return true;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return true;
    if (hasCode(error, "EBUSY", "ENOTEMPTY")) return false;
    throw error;
  }
}

const quickLooks = 50;

/** Looks some times without pause whether something has happened that nearly always happens at once. */
export async function soon(reached: () => boolean): Promise<boolean> {
  for (let look = 0; look < quickLooks; look++) {
    if (reached()) return true;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return reached();
}

/** Waits until something has happened. */
export async function waitUntil(reached: () => boolean, clock: Clock, what: string): Promise<void> {
  if ((await soon(reached)) || (await within(reached, clock, patienceMs))) return;
  throw new Error(`${what} does not happen`);
}

/** Looks every millisecond for so long whether something has happened. */
export async function within(reached: () => boolean, clock: Clock, ms: number): Promise<boolean> {
  const deadline = clock.now() + ms;
  while (!reached()) {
    if (clock.now() >= deadline) return false;
    await sleep(clock, 1);
  }
  return true;
}
