/** A scaling group as it stands now, read off the cache: costs the same for ten pods and for ten thousand. */
import type { ArrivalForecast, GroupMember, GroupSnapshot } from "#autoscaling/group.ts";
import { policyOf } from "#autoscaling/policy.ts";
import { groupNameOf } from "#controllers/pool/env-membership.ts";
import { countPods, countUnschedulable } from "#controllers/pool/status/pool-counts.ts";
import { formatKey, type Key } from "#kube/controller/key.ts";
import { conditionIn } from "#model/conditions.ts";
import type { EnvAutoscalingGroup } from "#model/env-autoscaling.ts";
import { effectiveScaleDownPriority, effectiveScaleUpPriority, type EnvClusterMember } from "#model/env-member.ts";
import { annotationKeys, poolConditionReasons, poolConditions } from "#model/keys.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { parseTime } from "#sandbox/annotation-values.ts";
import { phaseSince } from "#sandbox/phase.ts";
import type { GroupMemory } from "./group-memory.ts";
import type { ScalingTools } from "./scaling-deps.ts";

/** So many idle pods are looked at to see for how long they have been idle: as many go in one step at most. */
const maxIdleSeen = 100;

export function groupSnapshot(tools: ScalingTools, env: SandboxEnv, group: EnvAutoscalingGroup, memory: GroupMemory): GroupSnapshot {
  const nowMs = tools.clock.now();
  const members = membersOf(tools, env, group.name, memory);
  return {
    group,
    members,
    waiting: waitingFor(tools, env, members),
    arrivals: forecastOf(tools, group, memory),
    recentPeak: memory.wanted.largest(policyOf(group).idleTimeoutMs, nowMs),
    watchedSinceMs: memory.watchedSinceMs,
    nowMs,
  };
}

/** The number follows decisions that come at a pace, so a refill takes that much longer. */
function forecastOf({ clock, pace }: ScalingTools, group: EnvAutoscalingGroup, { arrivals, refill }: GroupMemory): ArrivalForecast {
  const { coveragePercent, emptyAfterMs } = policyOf(group);
  return arrivals.forecast({ nowMs: clock.now(), refillMs: refill.ms + pace.decideEveryMs, coveragePercent, emptyAfterMs });
}

/** Members that have no snapshot yet are not there yet: what their pool is to be is still being decided. */
function membersOf(tools: ScalingTools, env: SandboxEnv, group: string, memory: GroupMemory): readonly GroupMember[] {
  return (env.spec.clusters ?? []).flatMap(({ clusterID, members = [] }) =>
    members
      .filter((member) => groupNameOf(member) === group && member.spec !== undefined)
      .map((member) =>
        clusterID === tools.clusterID ? localMember(tools, env, member, memory) : { ...bareMember(member, clusterID), isLocal: false },
      ),
  );
}

function localMember(tools: ScalingTools, env: SandboxEnv, member: EnvClusterMember, memory: GroupMemory): GroupMember {
  const { cache, clock, clusterID, pressure } = tools;
  const key = { namespace: env.metadata.namespace, name: member.name };
  const pool = cache.pools.objects.get(key);
  const counts = countPods(cache, key);
  const waiting = pressure?.setsAt(key).reduce((sum, { count }) => sum + count, 0) ?? 0;
  const annotated = parseTime(pool?.metadata.annotations?.[annotationKeys.lastSandboxCreateTime]);
  const stuck = strandedIn(tools, key, pool);
  const seen = waiting > 0 ? clock.now() : (memory.createdAtMs.get(formatKey(key)) ?? annotated);
  return {
    ...bareMember(member, clusterID),
    idle: counts.idle - counts.unreadyIdle,
    coming: Math.max(0, counts.unreadyIdle - stuck),
    claimed: counts.starting + counts.running,
    stopping: counts.stopping,
    failed: counts.failed,
    waiting,
    idleForMs: idleForMs(tools, key),
    lastCreateAtMs: seen,
    status: pool?.status?.autoscaling ?? {},
    fullBecause: fullBecause(pool, stuck),
    stranded: stuck,
  };
}

/** Only once it is known that there is no room for more: a cluster may be about to get a node. */
function strandedIn({ cache, clock, refusals }: ScalingTools, key: Key, pool: SandboxPool | undefined): number {
  const saturatedUntilMs = parseTime(pool?.status?.autoscaling?.saturatedUntil) ?? 0;
  const isFull = refusals?.fresh(key) !== undefined || saturatedUntilMs > clock.now();
  return isFull ? countUnschedulable(cache, key) : 0;
}

function bareMember({ name, config = {}, spec }: EnvClusterMember, clusterID: string): GroupMember {
  return {
    clusterID,
    name,
    isLocal: true,
    replicas: spec?.replicas ?? 0,
    minReplicas: config.minReplicas ?? 0,
    maxReplicas: config.maxReplicas,
    scaleUpPriority: effectiveScaleUpPriority(config),
    scaleDownPriority: effectiveScaleDownPriority(config),
    idle: 0,
    coming: 0,
    claimed: 0,
    stopping: 0,
    failed: 0,
    waiting: 0,
    idleForMs: [],
    lastCreateAtMs: undefined,
    status: {},
    fullBecause: undefined,
  };
}

/** Each request once, though it waits at several pools. */
function waitingFor({ pressure }: ScalingTools, env: SandboxEnv, members: readonly GroupMember[]): number {
  const { namespace = "" } = env.metadata;
  const sets = new Map<string, number>();
  for (const { name, isLocal } of members) {
    if (!isLocal) continue;
    for (const { pools, count } of pressure?.setsAt({ namespace, name }) ?? []) sets.set(pools.join(","), count);
  }
  return [...sets.values()].reduce((sum, count) => sum + count, 0);
}

function idleForMs({ cache, clock }: ScalingTools, { namespace, name }: Key): readonly number[] {
  const now = clock.now();
  return cache
    .listPodsInPool({ namespace, pool: name })
    .take(maxIdleSeen)
    .map((pod) => {
      const since = phaseSince(pod, "idle");
      const sinceMs = since.kind === "in-phase" ? since.sinceMs : (parseTime(pod.metadata.creationTimestamp) ?? now);
      return Math.max(0, now - sinceMs);
    })
    .toArray()
    .sort((one, other) => other - one);
}

const reasonsToBeFull: ReadonlySet<string> = new Set([
  poolConditionReasons.limitReached,
  poolConditionReasons.podsRefused,
  poolConditionReasons.podsNotStarting,
  poolConditionReasons.imageUnavailable,
  poolConditionReasons.templateMissing,
  poolConditionReasons.templateInvalid,
]);

/** A pool that cannot make the pods that it wants says so; wanting more of it would not help. */
function fullBecause(pool: SandboxPool | undefined, stranded: number): string | undefined {
  const degraded = pool && conditionIn(pool, poolConditions.degraded);
  if (degraded?.status === "True" && reasonsToBeFull.has(degraded.reason)) return degraded.message;
  return stranded > 0 ? "no node takes its pods" : undefined;
}
