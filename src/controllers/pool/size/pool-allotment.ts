/**
 * How many pods a pool may have by the limits of its team and of the server. APIs refuse pools that would pass them; what is written past
 * the APIs, by `agentbox apply` or kubectl, is kept inside them here, as is what was there before a limit was lowered: nothing more is
 * made, and nothing is taken away. The oldest pools have theirs first, so every process comes to the same numbers. Pure.
 */
import { poolConditionReasons } from "#model/keys.ts";
import { type LimitTable, type ServerLimit, serverLimit, teamLimit } from "#model/limits.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { Trouble } from "./pool-memory.ts";
import { teamOf } from "./pool-sums.ts";

export interface Allotment {
  readonly pods: number;
  /** Why there are no more; undefined when the pool may have all that it wants. */
  readonly trouble: Trouble | undefined;
}

interface Bound {
  readonly pods: number;
  readonly of: string;
  readonly name: ServerLimit;
  readonly limit: number;
}

/** The pools beside the one that is asked about. */
export interface OtherPools {
  /** How many pods they have or are to have, in all and of the pool's team. */
  podsOfOthers(pool: SandboxPool): OtherPods;
  /** How many they have, those being made included. */
  podsThereOfOthers(pool: SandboxPool): OtherPods;
  /** Gone through only where a limit is near. */
  list(): Iterable<SandboxPool>;
}

export interface OtherPods {
  readonly all: number;
  readonly ofTeam: number;
}

/**
 * `wanted`: more than `spec.replicas` where requests wait. Beyond `spec.replicas` a pool has only what all others leave, whatever their age,
 * by what they have now or are to have.
 */
export function allotment(table: LimitTable, pool: SandboxPool, others: OtherPools, wanted: number = pool.spec.replicas): Allotment {
  const { replicas } = pool.spec;
  if (wanted === 0) return { pods: 0, trouble: undefined };
  const ofAll = tightestOf([...ofPool(table, pool), ...ofSums(table, pool, others.podsOfOthers(pool))]);
  // Older pools have no more of their stock than all pools have: what these leave, those leave too.
  if (ofAll.pods >= wanted) return { pods: wanted, trouble: undefined };
  // Pods that are there are not taken away, of younger pools neither: what they have is not there to be made once more.
  const ofStock = tightestOf([
    ...ofPool(table, pool),
    ...ofSums(table, pool, stockOfOlder(table, pool, others.list())),
    ...ofSums(table, pool, others.podsThereOfOthers(pool)),
  ]);
  const inStock = Math.min(replicas, ofStock.pods);
  const beyond = wanted > replicas ? ofAll : ofStock;
  const pods = Math.max(0, inStock, Math.min(wanted, beyond.pods));
  if (pods >= wanted) return { pods: wanted, trouble: undefined };
  const { of, name, limit } = beyond;
  const where = of === "" ? "--server" : `--team ${of}`;
  const whose = of === "" ? "the server" : `team ${of}`;
  const message =
    `the pool wants ${wanted} pods and may have ${pods}: ${whose} has the limit ${name}=${limit}. ` +
    `An admin can raise it: agentbox limits set ${where} ${name}=N`;
  return { pods, trouble: { reason: poolConditionReasons.limitReached, message } };
}

function tightestOf(bounds: readonly Bound[]): Bound {
  return bounds.reduce((least, bound) => (bound.pods < least.pods ? bound : least));
}

function ofPool(table: LimitTable, pool: SandboxPool): readonly Bound[] {
  const [name, team] = ["podsPerPool" as const, teamOf(pool)];
  const server = serverLimit(table, name);
  const bounds = [{ pods: server, of: "", name, limit: server }];
  if (team === "") return bounds;
  const limit = teamLimit(table, team, name);
  return [...bounds, { pods: limit, of: team, name, limit }];
}

function stockOfOlder(table: LimitTable, pool: SandboxPool, pools: Iterable<SandboxPool>): OtherPods {
  const team = teamOf(pool);
  let [all, ofTeam] = [0, 0];
  for (const other of pools) {
    if (!isOlder(other, pool)) continue;
    const pods = Math.min(other.spec.replicas, ...ofPool(table, other).map((bound) => bound.pods));
    all += pods;
    if (team !== "" && teamOf(other) === team) ofTeam += pods;
  }
  return { all, ofTeam };
}

/** What the others leave. */
function ofSums(table: LimitTable, pool: SandboxPool, { all, ofTeam }: OtherPods): readonly Bound[] {
  const [name, team] = ["pods" as const, teamOf(pool)];
  const server = serverLimit(table, name);
  const bounds = [{ pods: server - all, of: "", name, limit: server }];
  if (team === "") return bounds;
  const limit = teamLimit(table, team, name);
  return [...bounds, { pods: limit - ofTeam, of: team, name, limit }];
}

export function isOlder({ metadata: other }: SandboxPool, { metadata: own }: SandboxPool): boolean {
  const [time, ownTime] = [other.creationTimestamp ?? "", own.creationTimestamp ?? ""];
  if (time !== ownTime) return time < ownTime;
  return `${other.namespace ?? ""}/${other.name ?? ""}` < `${own.namespace ?? ""}/${own.name ?? ""}`;
}
