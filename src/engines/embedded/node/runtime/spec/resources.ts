import { parseQuantity } from "#model/quantity.ts";
import type { ResourceRequirements } from "#model/pod.ts";

/** As in the OCI runtime specification. */
export interface LinuxResources {
  readonly devices: readonly { readonly allow: boolean; readonly access: string }[];
  readonly cpu?: { readonly shares?: number; readonly quota?: number; readonly period?: number };
  readonly memory?: { readonly limit: number; readonly swap?: number };
}

const periodMicros = 100_000;
/** The kernel refuses quotas below a millisecond. */
const smallestQuota = 1000;
const smallestShares = 2;

/** A container's limits and shares, from the pod's resources. `countsSwap`: the machine can limit swap too. */
export function linuxResources({ limits = {}, requests = {} }: ResourceRequirements, countsSwap: boolean): LinuxResources {
  const cpuLimit = cores(limits["cpu"]);
  const cpuShare = cores(requests["cpu"]) ?? cpuLimit;
  const memory = bytes(limits["memory"]);
  return {
    devices: [{ allow: false, access: "rwm" }],
    ...(cpuLimit === undefined && cpuShare === undefined ? {} : { cpu: { ...shares(cpuShare), ...quota(cpuLimit) } }),
    // No swap on top: a limit that can be passed by the size of the swap is none.
    ...(memory === undefined ? {} : { memory: { limit: memory, ...(countsSwap ? { swap: memory } : {}) } }),
  };
}

/** Enough for some hundred connections that no process reads from. */
const fewestSocketBytes = 16 << 20;

/**
 * What a container's sockets may hold, on top of its memory where the kernel counts them apart: a quarter of its memory, and
 * never so much that others come short. `machineBytes`: what the sockets of the whole machine may hold.
 */
export function socketBytes({ limits = {} }: ResourceRequirements, machineBytes: number): number {
  const own = bytes(limits["memory"]) ?? Number.POSITIVE_INFINITY;
  return Math.floor(Math.min(Math.max(own / 4, fewestSocketBytes), machineBytes / 8));
}

function shares(share: number | undefined): { shares?: number } {
  return share === undefined ? {} : { shares: Math.max(smallestShares, Math.round(share * 1024)) };
}

function quota(limit: number | undefined): { quota?: number; period?: number } {
  return limit === undefined ? {} : { quota: Math.max(smallestQuota, Math.round(limit * periodMicros)), period: periodMicros };
}

function cores(amount: string | number | undefined): number | undefined {
  return amount === undefined ? undefined : Number(parseQuantity(amount).nanos) / 1e9;
}

function bytes(amount: string | number | undefined): number | undefined {
  return amount === undefined ? undefined : Number(parseQuantity(amount).nanos / 1_000_000_000n);
}
