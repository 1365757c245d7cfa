/** What a pool says of itself: pure, from its counts and what is wrong with it. */
import { statedCondition } from "#model/conditions.ts";
import { labelKeys, poolConditionReasons as reasons, poolConditions, phaseSelectorKeys } from "#model/keys.ts";
import type { Condition } from "#model/meta.ts";
import type {
  PoolDaemonDelivery,
  PoolImageForm,
  ResolvedPoolImage,
  SandboxPool,
  SandboxPoolStatus,
  ServedVersion,
} from "#model/sandbox-pool.ts";
import { type PoolCounts, replicasOf } from "./pool-counts.ts";
import type { Trouble } from "#controllers/pool/size/pool-memory.ts";

export interface PoolFacts {
  readonly counts: PoolCounts;
  /** Why pods cannot be made. */
  readonly trouble?: Trouble | undefined;
  /** Pods that are wanted now; `spec.replicas` when left out. */
  readonly wanted?: number | undefined;
  /** What is the matter with one of the pods that are not well, in words. */
  readonly ailment?: string | undefined;
  /** Idle pods of an earlier template. */
  readonly outdated?: number | undefined;
  /** Requests that wait; unknown when left out. */
  readonly waiting?: number | undefined;
  readonly resolvedImages?: readonly ResolvedPoolImage[] | undefined;
  /** Undefined: as it was. */
  readonly imageForm?: PoolImageForm | undefined;
  /** Undefined: as it was. */
  readonly serving?: ServedVersion | undefined;
  /** How new pods get their daemon; undefined where nodes bring it. */
  readonly daemonDelivery?: PoolDaemonDelivery | undefined;
}

/** What others keep in the status stays. */
export function poolStatus(pool: SandboxPool, facts: PoolFacts, now: string): SandboxPoolStatus {
  const { counts, outdated = 0, waiting, resolvedImages, daemonDelivery, imageForm, serving } = facts;
  const label = `${labelKeys.sandboxPool}=${pool.metadata.name ?? ""}`;
  const selectors = phaseSelectorKeys.map((phase) => [phase, phase === "all" ? label : `${label},${labelKeys.sandboxPhase}=${phase}`]);
  return {
    ...pool.status,
    phase: poolPhase(pool, facts),
    replicas: replicasOf(counts),
    idleReplicas: counts.idle,
    unavailableIdleReplicas: counts.unreadyIdle,
    outdatedIdleReplicas: outdated,
    runningReplicas: counts.running,
    startingReplicas: counts.starting,
    stoppingReplicas: counts.stopping,
    failedReplicas: counts.failed,
    selector: label,
    labelSelector: { matchLabels: { [labelKeys.sandboxPool]: pool.metadata.name ?? "" } },
    phaseSelectors: Object.fromEntries(selectors) as Record<string, string>,
    ...(waiting === undefined ? {} : { pendingRequests: waiting }),
    ...(resolvedImages === undefined ? {} : { resolvedImages }),
    ...(daemonDelivery === undefined ? {} : { daemonDelivery }),
    ...(imageForm === undefined ? {} : { imageForm }),
    ...(serving === undefined ? {} : { serving }),
    conditions: [...conditions(pool, facts, now), ...(pool.status?.conditions ?? []).filter(({ type }) => !ownConditions.has(type))],
  };
}

function poolPhase(pool: SandboxPool, facts: PoolFacts): NonNullable<SandboxPoolStatus["phase"]> {
  const { counts, trouble, wanted = pool.spec.replicas } = facts;
  const replicas = replicasOf(counts);
  if (pool.metadata.deletionTimestamp !== undefined) return "Terminating";
  // Whatever it has: of what it is to be made from now, it gets no pods.
  if (trouble !== undefined) return "Degraded";
  if (wanted === 0 && replicas === 0) return "Pending";
  if (replicas < wanted) return "ScalingUp";
  if (replicas > wanted) return "ScalingDown";
  return counts.unreadyIdle > 0 || counts.failed > 0 ? "Degraded" : "Ready";
}

const ownConditions: ReadonlySet<string> = new Set(Object.values(poolConditions));

function conditions(pool: SandboxPool, facts: PoolFacts, now: string): Condition[] {
  const { counts, wanted = pool.spec.replicas } = facts;
  const ready = counts.idle - counts.unreadyIdle;
  const replicas = replicasOf(counts);
  const { available, scaling, degraded } = poolConditions;
  const stated = [
    ready > 0
      ? { type: available, is: true, reason: reasons.idlePodsAvailable, message: `${ready} idle pods can be claimed` }
      : { type: available, is: false, reason: reasons.noIdlePodsAvailable, message: noneAvailable(facts, wanted) },
    replicas === wanted
      ? { type: scaling, is: false, reason: reasons.replicasReady, message: `${replicas} pods, as wanted` }
      : {
          type: scaling,
          is: true,
          reason: replicas < wanted ? reasons.scalingUp : reasons.scalingDown,
          message: `${replicas} pods of ${wanted}`,
        },
    { type: degraded, ...health(facts) },
  ];
  return stated.map(({ type, is, reason, message }) =>
    statedCondition(pool, { type, status: is ? "True" : "False", reason, message }, now),
  );
}

function noneAvailable({ trouble }: PoolFacts, wanted: number): string {
  if (trouble !== undefined) return `no idle pod can be claimed: ${trouble.message}`;
  return wanted === 0 ? "the pool wants no pods: scale it up" : "no idle pod can be claimed";
}

/** Problems that prevent pods from being created come first, because an operator must solve them. */
function health({ counts: { unreadyIdle, failed }, trouble, ailment }: PoolFacts): { is: boolean; reason: string; message: string } {
  if (trouble !== undefined) return { is: true, reason: trouble.reason, message: trouble.message };
  const said = ailment === undefined ? "" : `; ${ailment}`;
  if (unreadyIdle > 0 && failed > 0) {
    const message = `${unreadyIdle} idle pods are not ready, ${failed} have failed${said}`;
    return { is: true, reason: reasons.unhealthyAndFailedPods, message };
  }
  if (unreadyIdle > 0) return { is: true, reason: reasons.unhealthyIdlePods, message: `${unreadyIdle} idle pods are not ready${said}` };
  if (failed > 0) return { is: true, reason: reasons.failedPodsPresent, message: `${failed} pods have failed${said}` };
  return { is: false, reason: reasons.allPodsHealthy, message: "all pods are healthy" };
}
