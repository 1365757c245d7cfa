/**
 * Extra pods for waiting requests, beyond `spec.replicas`, at once. Only if the pool belongs to an Env whose group is enabled, or creates a pod for each
 * request. Every pool of an Env computes the whole allotment from the same numbers, so a request never gets two pods.
 */
import { allotWaiters, type GrowingPool, type Waiters } from "#autoscaling/allot-waiters.ts";
import type { Key } from "#kube/controller/key.ts";
import { effectiveScaleUpPriority } from "#model/env-member.ts";
import { labelKeys, poolConditionReasons } from "#model/keys.ts";
import { serverLimit, teamLimit } from "#model/limits.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { parseTime } from "#sandbox/annotation-values.ts";
import { poolKey } from "#scheduling/pool-ref.ts";
import { type EnvMembership, growsForWaiters, groupNameOf, membershipOf } from "#controllers/pool/env-membership.ts";
import { countPods, countUnschedulable, type PoolCounts, replicasOf } from "#controllers/pool/status/pool-counts.ts";
import { keyOf, type PoolTools } from "#controllers/pool/pool-deps.ts";

/** Pods that the pool wants because of what it carries and of what waits; 0 where `spec.replicas` alone counts. */
export function podsForWaiters(tools: PoolTools, pool: SandboxPool, counts: PoolCounts): number {
  const membership = membershipOf(tools.cache, pool, tools.clusterID);
  if (membership === undefined || !growsForWaiters(membership)) return 0;
  const busy = replicasOf(counts) - counts.idle;
  const siblings = siblingsOf(tools, membership);
  const sets = waitersOf(tools, siblings);
  if (sets.length === 0) return busy;
  const rooms = new Map(siblings.map(({ membership: { group, member } }) => [groupNameOf(member), groupRoom(siblings, group)]));
  const allotted = allotWaiters(
    sets,
    siblings.map((sibling) =>
      growing(tools, sibling, isInTrouble(tools, sibling.pool) && sibling.pool.metadata.name !== pool.metadata.name),
    ),
    rooms,
  );
  return busy + (allotted.get(textOf(pool)) ?? 0);
}

/** How many more pods than it has the pool needs for requests that wait; undefined where none waits, or none has a pod made for it. */
export function podsWaitedFor(tools: PoolTools, pool: SandboxPool, counts: PoolCounts): number | undefined {
  if ((tools.pressure?.setsAt(keyOf(pool)) ?? []).length === 0) return undefined;
  const membership = membershipOf(tools.cache, pool, tools.clusterID);
  if (membership === undefined || !growsForWaiters(membership)) return undefined;
  return Math.max(0, podsForWaiters(tools, pool, counts) - replicasOf(counts));
}

/**
 * How many more pods the group of the pool may have by its maximum. Counted by pods that are there, not by wanted ones: a sibling that
 * shrinks has its pods until their protection window is over.
 */
export function roomInGroup(tools: PoolTools, pool: SandboxPool): number {
  const membership = membershipOf(tools.cache, pool, tools.clusterID);
  if (membership?.group?.enabled !== true) return Infinity;
  const siblings = siblingsOf(tools, membership).filter((sibling) => groupNameOf(sibling.membership.member) === membership.group?.name);
  const coming = siblings.reduce((sum, sibling) => sum + comingTo(tools, sibling), 0);
  return Math.max(0, groupRoom(siblings, membership.group) - coming);
}

/** Pods of it that are being made and that its counts do not show yet. */
function comingTo({ expectations, underWay }: PoolTools, { pool, counts }: Sibling): number {
  const key = keyOf(pool);
  return Math.max(expectations.pendingCreations(key), underWay.upTo(key) - replicasOf(counts));
}

/**
 * Idle pods that no node takes, of a pool of which plugins say that more do not fit: no request is to wait for them. Before that is said
 * they are on their way as others are: a cluster may be about to get a node.
 */
function strandedPods({ cache, refusals }: Pick<PoolTools, "cache" | "refusals">, key: Key): number {
  return refusals.fresh(key) === undefined ? 0 : countUnschedulable(cache, key);
}

interface Sibling {
  readonly pool: SandboxPool;
  readonly membership: EnvMembership;
  readonly counts: PoolCounts;
}

/** The pools of the Env, this one included. */
function siblingsOf(tools: PoolTools, { env }: EnvMembership): readonly Sibling[] {
  const { namespace, name = "" } = env.metadata;
  return tools.cache
    .poolsOfEnv({ namespace, name })
    .flatMap((pool) => {
      const membership = membershipOf(tools.cache, pool, tools.clusterID);
      return membership === undefined ? [] : [{ pool, membership, counts: countPods(tools.cache, keyOf(pool)) }];
    })
    .toArray();
}

/** Each set once, though several pools know it. */
function waitersOf({ pressure }: PoolTools, siblings: readonly Sibling[]): readonly Waiters[] {
  const sets = new Map<string, Waiters>();
  for (const { pool } of siblings) {
    for (const set of pressure?.setsAt(keyOf(pool)) ?? []) sets.set(set.pools.join(","), set);
  }
  return [...sets.values()];
}

/** It cannot make pods now. Its own tries go on, at their pace; what waits is not left to them alone. */
function isInTrouble({ memories }: PoolTools, pool: SandboxPool): boolean {
  const { trouble } = memories.of(keyOf(pool));
  return trouble !== undefined && trouble.reason !== poolConditionReasons.limitReached;
}

function growing(tools: PoolTools, { pool, membership, counts }: Sibling, isPassedOver: boolean): GrowingPool {
  const saturatedUntilMs = parseTime(pool.status?.autoscaling?.saturatedUntil) ?? 0;
  const stranded = strandedPods(tools, keyOf(pool));
  return {
    key: textOf(pool),
    group: groupNameOf(membership.member),
    scaleUpPriority: effectiveScaleUpPriority(membership.member.config ?? {}),
    coming: counts.idle - stranded,
    room: isPassedOver || stranded > 0 ? 0 : roomOf(tools, { pool, membership, counts }),
    isSaturated: saturatedUntilMs > tools.clock.now(),
  };
}

/** How many more pods the pool may have by its own maximum, by limits for single pools, and by what plugins said lately. */
function roomOf(tools: PoolTools, { pool, membership, counts }: Sibling): number {
  if (!growsForWaiters(membership) || pool.metadata.deletionTimestamp !== undefined) return 0;
  const table = tools.cache.limitTable();
  const team = pool.metadata.labels?.[labelKeys.team] ?? "";
  const most = Math.min(
    membership.member.config?.maxReplicas ?? Infinity,
    serverLimit(table, "podsPerPool"),
    team === "" ? Infinity : teamLimit(table, team, "podsPerPool"),
    tools.refusals.fresh(keyOf(pool))?.admitted ?? Infinity,
  );
  return Math.max(0, most - replicasOf(counts));
}

function groupRoom(siblings: readonly Sibling[], group: EnvMembership["group"]): number {
  if (group?.maxReplicas === undefined) return Infinity;
  const ofGroup = siblings.filter(({ membership }) => groupNameOf(membership.member) === group.name);
  const pods = ofGroup.reduce((sum, { counts }) => sum + replicasOf(counts), 0);
  return Math.max(0, group.maxReplicas - pods);
}

function textOf({ metadata: { namespace = "", name = "" } }: SandboxPool): string {
  return poolKey({ namespace, name });
}
