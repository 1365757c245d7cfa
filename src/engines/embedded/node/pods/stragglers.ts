import { existsSync } from "node:fs";
import { type Clock, sleep } from "#lib/clock.ts";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import { ownerOfShell } from "#engines/embedded/node/linux/small-shell.ts";
import { namesIn } from "./records.ts";

const patienceMs = 10_000;

/**
 * Waits for commands of the runtimes that an earlier life has started and that go on without it: until they are over,
 * what they are making cannot be seen as a whole.
 */
export async function waitForStragglers(stateFolder: string, clock: Clock): Promise<void> {
  const deadline = clock.now() + patienceMs;
  while (isBusy(stateFolder)) {
    if (clock.now() > deadline) throw new Error(`commands of an earlier life still work in ${stateFolder}; end them and start again`);
    await sleep(clock, 10);
  }
}

function isBusy(stateFolder: string): boolean {
  return namesIn("/proc").some((pid) => /^\d+$/.test(pid) && worksIn(pid, stateFolder));
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
