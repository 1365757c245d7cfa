/**
 * How many of the missing pods the quotas of the pool's team and user leave: cpu, memory and idle stock. As with other limits
 * (pool-allotment.ts), the oldest pools have theirs first, and nothing that is there is taken away: of younger pools the pods count that
 * they have, of older ones also those that they want.
 */
import { formatKey } from "#kube/controller/key.ts";
import { poolsByTeam } from "#read-model/indexes.ts";
import { labelKeys, poolConditionReasons } from "#model/keys.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { poolsIn } from "#plugins/pool-spec.ts";
import { boundText, quotaBounds } from "#plugins/quota-bounds.ts";
import { isOlder } from "./pool-allotment.ts";
import { countPods, type PoolCounts, replicasOf } from "#controllers/pool/status/pool-counts.ts";
import { keyOf, type PoolTools } from "#controllers/pool/pool-deps.ts";
import type { Trouble } from "./pool-memory.ts";

interface Allowed {
  readonly missing: number;
  readonly trouble?: Trouble | undefined;
}

export function withinQuotas(
  { cache, sums, underWay }: Pick<PoolTools, "cache" | "sums" | "underWay">,
  pool: SandboxPool,
  counts: PoolCounts,
  allowed: Allowed,
): Allowed {
  const team = pool.metadata.labels?.[labelKeys.team] ?? "";
  if (team === "" || allowed.missing <= 0) return allowed;
  const others = cache.pools.objects.lookup(poolsByTeam, team).filter((other) => formatKey(keyOf(other)) !== formatKey(keyOf(pool)));
  const podsOf = (other: SandboxPool): number =>
    isOlder(other, pool) ? sums.podsOf(other) : Math.max(replicasOf(countPods(cache, keyOf(other))), underWay.upTo(keyOf(other)));
  const status = { ...pool.status, runningReplicas: counts.running, startingReplicas: counts.starting };
  const bounds = quotaBounds(cache.limitTable(), { ...pool, status }, { others, amountsOf: poolsIn(cache).amountsOf, podsOf });
  const [first, ...rest] = bounds;
  if (first === undefined) return allowed;
  const tightest = rest.reduce((least, bound) => (bound.pods < least.pods ? bound : least), first);
  const left = Math.max(0, tightest.pods - replicasOf(counts));
  if (left >= allowed.missing) return allowed;
  return { missing: left, trouble: { reason: poolConditionReasons.limitReached, message: boundText(tightest) } };
}
