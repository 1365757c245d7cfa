/**
 * Ends all that runs in a sandbox but its init and this daemon. One signal reaches every process of a pid namespace at once, so nothing that
 * forks can outrun it; which is why it is sent only where the namespace is the sandbox's own, with our init as its first process.
 */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const [tries, pauseMs] = [20, 10];

/** Sends SIGKILL to every process that this one may signal, itself and the first process excepted. Tests give one that kills nothing. */
type KillAll = () => void;

/** `init`: the program that must be the first process. Resolves with whether nothing is left. */
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
    // There are no others, or this daemon may not signal them. The caller checks next which processes are left.
  }
}

function others(): readonly number[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => pid !== 1 && pid !== process.pid);
}

/** A zombie waits to be noticed; it runs nothing. */
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
