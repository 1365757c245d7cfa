/** Processes that keep to one core, and what they have used of it. */
import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const pinner = "taskset";

export function pinned(core: number, argv: readonly string[], options: SpawnOptions): ChildProcess {
  return spawn(pinner, ["--cpu-list", String(core), ...argv], options);
}

/** A program of ours, which is told things and tells what came of them. */
export function pinnedNode(core: number, module: string): ChildProcess {
  return pinned(core, [process.execPath, fileURLToPath(module)], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
}

const ticksPerSecond = 100;

/** Seconds in user and in kernel mode, all threads, since it began. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // Behind the name, which may hold anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
