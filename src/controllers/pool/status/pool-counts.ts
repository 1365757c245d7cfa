import type { Key } from "#kube/controller/key.ts";
import { podsByPoolAndSlot, type PoolSlot, poolValue, readyIdlePods, slotValue, unschedulablePods } from "#read-model/indexes.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";

/** How many pods of a pool stand where. */
export interface PoolCounts {
  readonly idle: number;
  /** Those of the idle ones that are not ready. */
  readonly unreadyIdle: number;
  readonly starting: number;
  readonly running: number;
  readonly stopping: number;
  readonly failed: number;
  /** Pods of ours without a phase that we know. */
  readonly unknown: number;
  /** Pods that are being deleted. They are no replicas (W10). */
  readonly terminating: number;
}

/** Living pods: terminating ones are no replicas (W10). */
export function replicasOf({ idle, starting, running, stopping, failed, unknown }: PoolCounts): number {
  return idle + starting + running + stopping + failed + unknown;
}

/** Read off the indexes, so that it costs the same for ten pods and ten thousand. */
export function countPods({ pods }: Pick<SandboxCache, "pods">, { namespace = "", name }: Key): PoolCounts {
  const count = (slot: PoolSlot): number => pods.objects.count(podsByPoolAndSlot, slotValue({ namespace, pool: name, slot }));
  const idle = count("idle");
  return {
    idle,
    unreadyIdle: idle - pods.objects.count(readyIdlePods, poolValue({ namespace, pool: name })),
    starting: count("starting"),
    running: count("running"),
    stopping: count("stopping"),
    failed: count("failed"),
    unknown: count("unknown"),
    terminating: count("terminating"),
  };
}

/** Pods that no node takes. They count as idle ones that are not ready. */
export function countUnschedulable({ pods }: Pick<SandboxCache, "pods">, { namespace = "", name }: Key): number {
  return pods.objects.count(unschedulablePods, poolValue({ namespace, pool: name }));
}
