/** What a pool says of itself: pure, from its counts. */
import { labelKeys, poolConditionReasons as reasons, poolConditions, phaseSelectorKeys } from "#model/keys.ts";
import type { Condition } from "#model/meta.ts";
import type { SandboxPool, SandboxPoolStatus } from "#model/sandbox-pool.ts";
import { type PoolCounts, replicasOf } from "./pool-counts.ts";

export function poolStatus(pool: SandboxPool, counts: PoolCounts, now: string): SandboxPoolStatus {
  const label = `${labelKeys.sandboxPool}=${pool.metadata.name ?? ""}`;
  const selectors = phaseSelectorKeys.map((phase) => [phase, phase === "all" ? label : `${label},${labelKeys.sandboxPhase}=${phase}`]);
  return {
    ...pool.status,
    phase: poolPhase(pool, counts),
    replicas: replicasOf(counts),
    idleReplicas: counts.idle,
    unavailableIdleReplicas: counts.unreadyIdle,
    runningReplicas: counts.running,
    startingReplicas: counts.starting,
    stoppingReplicas: counts.stopping,
    failedReplicas: counts.failed,
    selector: label,
    labelSelector: { matchLabels: { [labelKeys.sandboxPool]: pool.metadata.name ?? "" } },
    phaseSelectors: Object.fromEntries(selectors) as Record<string, string>,
    conditions: conditions(pool, counts, now),
  };
}

function poolPhase(pool: SandboxPool, counts: PoolCounts): NonNullable<SandboxPoolStatus["phase"]> {
  const replicas = replicasOf(counts);
  const wanted = pool.spec.replicas;
  if (pool.metadata.deletionTimestamp !== undefined) return "Terminating";
  if (wanted === 0 && replicas === 0) return "Pending";
  if (replicas < wanted) return "ScalingUp";
  if (replicas > wanted) return "ScalingDown";
  return counts.unreadyIdle > 0 || counts.failed > 0 ? "Degraded" : "Ready";
}

function conditions(pool: SandboxPool, counts: PoolCounts, now: string): Condition[] {
  const ready = counts.idle - counts.unreadyIdle;
  const replicas = replicasOf(counts);
  const wanted = pool.spec.replicas;
  const { available, scaling, degraded } = poolConditions;
  const stated = [
    ready > 0
      ? { type: available, is: true, reason: reasons.idlePodsAvailable, message: `${ready} idle pods can be claimed` }
      : { type: available, is: false, reason: reasons.noIdlePodsAvailable, message: "no idle pod can be claimed" },
    replicas === wanted
      ? { type: scaling, is: false, reason: reasons.replicasReady, message: `${replicas} pods, as wanted` }
      : {
          type: scaling,
          is: true,
          reason: replicas < wanted ? reasons.scalingUp : reasons.scalingDown,
          message: `${replicas} pods of ${wanted}`,
        },
    { type: degraded, ...health(counts) },
  ];
  return stated.map(({ type, is, reason, message }) => condition(pool, { type, status: is ? "True" : "False", reason, message }, now));
}

function health({ unreadyIdle, failed }: PoolCounts): { is: boolean; reason: string; message: string } {
  if (unreadyIdle > 0 && failed > 0) {
    return { is: true, reason: reasons.unhealthyAndFailedPods, message: `${unreadyIdle} idle pods are not ready, ${failed} have failed` };
  }
  if (unreadyIdle > 0) return { is: true, reason: reasons.unhealthyIdlePods, message: `${unreadyIdle} idle pods are not ready` };
  if (failed > 0) return { is: true, reason: reasons.failedPodsPresent, message: `${failed} pods have failed` };
  return { is: false, reason: reasons.allPodsHealthy, message: "all pods are healthy" };
}

/** The time of a condition is when its status last changed, not when it was last written. */
function condition(pool: SandboxPool, stated: Omit<Condition, "lastTransitionTime">, now: string): Condition {
  const before = pool.status?.conditions?.find(({ type }) => type === stated.type);
  const since = before?.status === stated.status ? before.lastTransitionTime : now;
  return {
    ...stated,
    ...(pool.metadata.generation === undefined ? {} : { observedGeneration: pool.metadata.generation }),
    lastTransitionTime: since,
  };
}
