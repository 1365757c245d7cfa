/**
 * How many pods a pool may have by the quotas of its team and of the user that it belongs to. Pure; the pool controller and the plugin
 * `quota` ask it with different neighbours: the older pools, or all of them.
 */
import { labelKeys } from "#model/keys.ts";
import { type LimitTable, setUserLimit, teamLimit, type UserLimit } from "#model/limits.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { PodAmounts } from "./pod-amounts.ts";

export interface QuotaBound {
  readonly pods: number;
  readonly team: string;
  /** Left out: the whole team's. */
  readonly user?: string | undefined;
  readonly name: UserLimit;
  readonly limit: number;
}

export interface QuotaNeighbours {
  /** Pools of the same team that have theirs before this one. */
  readonly others: Iterable<SandboxPool>;
  /** What one of a pool's pods may use. */
  readonly amountsOf: (pool: SandboxPool) => PodAmounts;
  /** Pods that another pool has or is to have. */
  readonly podsOf: (pool: SandboxPool) => number;
}

type Sums = Record<"cpuMilli" | "memoryBytes" | "idle", number>;

const mib = 2 ** 20;

/** Empty for a pool that no team owns. */
export function quotaBounds(table: LimitTable, pool: SandboxPool, { others, amountsOf, podsOf }: QuotaNeighbours): readonly QuotaBound[] {
  const [team, user] = [ownerOf(pool, "team"), ownerOf(pool, "user")];
  if (team === "") return [];
  const pools = [...others].filter((other) => ownerOf(other, "team") === team);
  const sumsOf = (some: readonly SandboxPool[]): Sums =>
    some.reduce((sums, other) => added(sums, other, { pods: podsOf(other), amounts: amountsOf(other) }), { ...none });
  const own = { pool, amounts: amountsOf(pool) };
  const ofTeam = bounds(own, sumsOf(pools), (name) => teamLimit(table, team, name)).map((bound) => ({ ...bound, team }));
  if (user === "") return ofTeam;
  const userSums = sumsOf(pools.filter((other) => ownerOf(other, "user") === user));
  return [
    ...ofTeam,
    ...bounds(own, userSums, (name) => setUserLimit(table, { team, user }, name)).map((bound) => ({ ...bound, team, user })),
  ];
}

const none: Sums = { cpuMilli: 0, memoryBytes: 0, idle: 0 };

interface Counted {
  readonly pods: number;
  readonly amounts: PodAmounts;
}

function added(sums: Sums, pool: SandboxPool, { pods, amounts: { cpuMilli, memoryBytes } }: Counted): Sums {
  return {
    cpuMilli: sums.cpuMilli + pods * cpuMilli,
    memoryBytes: sums.memoryBytes + pods * memoryBytes,
    idle: sums.idle + Math.max(0, pods - busyIn(pool)),
  };
}

interface OwnPool {
  readonly pool: SandboxPool;
  readonly amounts: PodAmounts;
}

type Bound = Omit<QuotaBound, "team" | "user">;

function bounds({ pool, amounts }: OwnPool, sums: Sums, limitOf: (name: QuotaOfPods) => number | undefined): readonly Bound[] {
  const rooms: Record<QuotaOfPods, (limit: number) => number> = {
    cpu: (limit) => (limit * 1000 - sums.cpuMilli) / amounts.cpuMilli,
    memoryMiB: (limit) => (limit * mib - sums.memoryBytes) / amounts.memoryBytes,
    // A pod with a sandbox is no stock.
    idlePods: (limit) => limit - sums.idle + busyIn(pool),
  };
  return quotasOfPods.flatMap((name) => {
    const limit = limitOf(name);
    const pods = limit === undefined ? Infinity : rooms[name](limit);
    // A pod of size 0 fits any number of times, and 0 ÷ 0 is no number.
    return limit === undefined || !Number.isFinite(pods) ? [] : [{ name, limit, pods: Math.max(0, Math.floor(pods)) }];
  });
}

const quotasOfPods = ["cpu", "memoryMiB", "idlePods"] as const;
type QuotaOfPods = (typeof quotasOfPods)[number];

function busyIn({ status }: SandboxPool): number {
  return (status?.runningReplicas ?? 0) + (status?.startingReplicas ?? 0);
}

function ownerOf({ metadata: { labels } }: SandboxPool, kind: "team" | "user"): string {
  return labels?.[labelKeys[kind]] ?? "";
}

/** For people: which quota it is and what raises it. */
export function boundText({ pods, team, user, name, limit }: QuotaBound): string {
  const [owner, where] =
    user === undefined ? [`team ${team}`, `--team ${team}`] : [`user ${user} of team ${team}`, `--team ${team} --user ${user}`];
  return `${owner} has the limit ${name}=${limit}, which leaves ${pods} pods for this pool. An admin can raise it: agentbox limits set ${where} ${name}=N`;
}
