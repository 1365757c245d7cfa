/** Limits of processes in sandboxes. */
import { readFileSync } from "node:fs";
import { systemCall } from "./libc.ts";

const mostOpenFiles = 65_536;
const resourceCapability = 24n;
const coreSize = 4;

/**
 * How many files each process of a sandbox may have open; undefined if sandboxes inherit the limits of this process.
 *
 * The runtime sets limits of processes that are in the sandbox's user namespace already. That namespace belongs to the slot's
 * user, so it takes CAP_SYS_RESOURCE. Without it sandboxes inherit, and we give up core files ourselves, because they must.
 */
export function openFilesOfSandboxes(): number | undefined {
  if (hasResourceCapability(readFileSync("/proc/self/status", "utf8"))) {
    return Math.min(mostOpenFiles, openFilesLimit(readFileSync("/proc/self/limits", "utf8")));
  }
  systemCall("prlimit", [0, coreSize, Buffer.alloc(16), null], "no core files");
  return undefined;
}

export function hasResourceCapability(status: string): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0";
  return ((BigInt(`0x${effective}`) >> resourceCapability) & 1n) === 1n;
}

/** No process may be given more than our own hard limit. */
export function openFilesLimit(limits: string): number {
  const hard = /^Max open files\s+\S+\s+(\S+)/m.exec(limits)?.[1];
  return hard === "unlimited" ? Number.POSITIVE_INFINITY : Number(hard);
}
