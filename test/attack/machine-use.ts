/** What a server takes of its machine: memory of its process, and disk below its folder. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

export interface MachineUse {
  readonly serverMiB: number;
  readonly diskMiB: number;
  /** Memory of the machine that is not free to take, sandboxes and kernel included. */
  readonly machineMiB: number;
}

export function machineUse(pid: number, folder: string): MachineUse {
  const kiB = (file: string, field: string): number =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(readFileSync(file, "utf8"))?.[1]);
  // Blocks that are taken, not sizes: disks of sandboxes are sparse files.
  const disk = Number(
    execFileSync("du", ["--summarize", "--block-size=1048576", "--one-file-system", folder], { encoding: "utf8" }).split("\t")[0],
  );
  return {
    serverMiB: Math.round(kiB(`/proc/${pid}/status`, "VmRSS") / 1024),
    diskMiB: disk,
    machineMiB: Math.round((kiB("/proc/meminfo", "MemTotal") - kiB("/proc/meminfo", "MemAvailable")) / 1024),
  };
}
