/** What single processes have used of the processors. */
import { readdirSync, readFileSync } from "node:fs";

/** Milliseconds, by its threads in nanoseconds: what /proc/PID/stat tells comes in steps of ten milliseconds. Nothing once it has ended. */
export function processMs(pid: number): number {
  return sum(threadsOf(pid).map((thread) => Number(readIfThere(`/proc/${pid}/task/${thread}/schedstat`).split(" ")[0]) / 1e6));
}

export function allProcesses(): readonly number[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number);
}

/** Empty for a file of a process or a thread that has ended meanwhile. */
export function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}
