/**
 * Ends all processes of a sandbox except its init and this daemon. One signal reaches every process of a pid namespace at once, so no fork can escape it.
 * It is sent only if the namespace is the sandbox's own, with our init as its first process.
 */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const [tries, pauseMs] = [20, 10];

/** Sends SIGKILL to every process that this one may signal, except itself and the first process. Tests pass one that kills nothing. */
type KillAll = () => void;

/** `init`: the program that must be the first process. Resolves with true if nothing is left. */
export async function endProcesses(init: string, killAll: KillAll = sendToAll): Promise<boolean> {
  if (programOf(1) !== init) return false;
  for (let left = tries; left > 0; left--) {
    killOthers(killAll);
    if (!others().some(isRunning)) return true;
    await sleep(pauseMs);
  }
  return false;
}

function sendToAll(): void {
  process.kill(-1, "SIGKILL");
}

function killOthers(killAll: KillAll): void {
  try {
    killAll();
  } catch {
    // There are no other processes, or this daemon may not signal them. The caller then checks which processes are left.
  }
}

function others(): readonly number[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => pid !== 1 && pid !== process.pid);
}

/** A zombie only waits for its parent and runs nothing. */
function isRunning(pid: number): boolean {
  const stat = readIfThere(`/proc/${pid}/stat`);
  return stat !== "" && !/\) [ZX] /.test(stat);
}

function programOf(pid: number): string {
  return readIfThere(`/proc/${pid}/cmdline`).split("\0", 1)[0] ?? "";
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // It has ended meanwhile.
    return "";
  }
}
