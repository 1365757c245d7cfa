/**
 * The plugin `capacity`: how many pods fit.
 *
 * On one machine that is arithmetic (`machineRoom`); what a pod counts is said in machine-use.ts. The room is the cores × `cpuOvercommit`, and the
 * shares of memory and disk. With the usual settings, the pods of the template `base` (50m, 32Mi, a disk of up to 1Gi) on a machine with
 * 2 cores, 24 GiB of memory and 60 GiB of free disk: 200 by cpu, 691 by memory, 216 by disk; so 200.
 *
 * On a cluster the scheduler knows: a pool with pods that have found no node for a while has no room for more.
 */
import type { Clock } from "#lib/clock.ts";
import { podCondition } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { MachineUse } from "./machine-use.ts";
import type { PodAmounts } from "./pod-amounts.ts";
import type { Plugin, Refusal, Verdict } from "./plugin.ts";

export interface CapacitySettings {
  /** So many times the cores may be requested: sandboxes wait most of the time. */
  readonly cpuOvercommit: number;
  /** Shares of the machine's memory and free disk that pods may request. */
  readonly memoryShare: number;
  readonly diskShare: number;
  /** A pod without a request counts for its limit divided by this. */
  readonly limitDivisor: number;
  /** On a cluster: so long without a node mean that there is no room. */
  readonly unschedulableAfterMs: number;
}

export const usualCapacity: CapacitySettings = {
  cpuOvercommit: 5,
  memoryShare: 0.9,
  diskShare: 0.9,
  limitDivisor: 4,
  unschedulableAfterMs: 30_000,
};

/** The machine's own numbers. */
export type Machine = PodAmounts;

const words = { cpuMilli: "cpu", memoryBytes: "memory", diskBytes: "disk" } as const;
const resources = ["cpuMilli", "memoryBytes", "diskBytes"] as const;

export interface MachineCapacityDeps {
  readonly machine: () => Machine;
  readonly settings: CapacitySettings;
  readonly use: Pick<MachineUse, "ofOthers" | "ofPod">;
  readonly replicasNow: ReplicasNow;
}

/** How many pods are wanted of the pool now; 0 for one that is not there yet. */
type ReplicasNow = (pool: SandboxPool) => number;

export function machineCapacity(deps: MachineCapacityDeps): Plugin {
  return { name: "capacity", preUpdatePool: async (pool) => verdictOf(pool, machineRoom(deps, pool), deps.replicasNow(pool)) };
}

export interface Room {
  /** As many pods as the pool may have, beside what other pools want. */
  readonly pods: number;
  readonly because: string;
}

export function machineRoom({ machine, settings, use }: Omit<MachineCapacityDeps, "replicasNow">, pool: SandboxPool): Room {
  const own = use.ofPod(pool);
  const others = use.ofOthers(pool);
  const total = roomOf(machine(), settings);
  const fits = resources.map((resource) => {
    return { resource, pods: Math.max(0, Math.floor((total[resource] - others[resource]) / own[resource])) };
  });
  const { resource, pods } = fits.reduce((least, fit) => (fit.pods < least.pods ? fit : least));
  // Tenants read this: what other pools hold together is not said. Admins see each pool.
  const because = `the machine has room for ${pods} pods of this pool beside the other pools: ${words[resource]} is short, ${text(resource, own[resource])} each`;
  return { pods, because };
}

function roomOf({ cpuMilli, memoryBytes, diskBytes }: Machine, settings: CapacitySettings): PodAmounts {
  return {
    cpuMilli: cpuMilli * settings.cpuOvercommit,
    memoryBytes: memoryBytes * settings.memoryShare,
    diskBytes: diskBytes * settings.diskShare,
  };
}

function text(resource: keyof PodAmounts, amount: number): string {
  return resource === "cpuMilli" ? `${amount / 1000} cores` : `${Math.round(amount / 2 ** 20)} MiB`;
}

export interface ClusterCapacityDeps {
  readonly clock: Pick<Clock, "now">;
  readonly settings: Pick<CapacitySettings, "unschedulableAfterMs">;
  readonly replicasNow: ReplicasNow;
  /** The pool's pods that the scheduler has found no node for. */
  readonly unschedulable: (pool: SandboxPool) => Iterable<Pod>;
}

export function clusterCapacity(deps: ClusterCapacityDeps): Plugin {
  return {
    name: "capacity",
    preUpdatePool: async (pool) => {
      const room = clusterRoom(deps, pool);
      return room === undefined ? { object: pool } : verdictOf(pool, room, deps.replicasNow(pool), deps.settings.unschedulableAfterMs);
    },
  };
}

/** Undefined: nothing speaks against more pods. */
export function clusterRoom(
  { clock, settings, unschedulable }: Omit<ClusterCapacityDeps, "replicasNow">,
  pool: SandboxPool,
): Room | undefined {
  const pods = [...unschedulable(pool)];
  const stuck = pods.find((pod) => clock.now() - unschedulableSince(pod) >= settings.unschedulableAfterMs);
  if (stuck === undefined) return undefined;
  const message = podCondition(stuck, "PodScheduled")?.message ?? "the scheduler gave no reason";
  return {
    pods: Math.max(0, (pool.status?.replicas ?? pool.spec.replicas) - pods.length),
    because: `pod ${stuck.metadata.name ?? ""} has had no node for ${Math.floor((clock.now() - unschedulableSince(stuck)) / 1000)} s: ${message}`,
  };
}

function unschedulableSince(pod: Pod): number {
  return Date.parse(podCondition(pod, "PodScheduled")?.lastTransitionTime ?? pod.metadata.creationTimestamp ?? "");
}

/** What is there already is not refused, whatever has become of the room. */
function verdictOf(pool: SandboxPool, room: Room, present: number, retryAfterMs = machineRetryMs): Verdict<SandboxPool> {
  const wanted = pool.spec.replicas;
  if (wanted <= room.pods || wanted <= present) return { object: pool };
  const refusal: Refusal = { kind: "InsufficientResources", message: room.because, wouldFit: Math.max(room.pods, present), retryAfterMs };
  return { refusal };
}

const machineRetryMs = 10_000;
