/** What a create will take of its team's cpu and memory. */
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { noAmounts } from "#plugins/pod-amounts.ts";
import { poolsIn } from "#plugins/pool-spec.ts";
import type { PoolRef } from "#scheduling/pool-ref.ts";

export interface CreateSize {
  /** In cores. */
  readonly cpu: number;
  readonly memoryMiB: number;
}

/** Which pool serves it is not known yet, so a create that may go to pools of different sizes counts as the largest of them. */
export function sizeOfCreate(
  { cache }: { readonly cache: Pick<SandboxCache, "pools" | "templates"> },
  pools: readonly PoolRef[],
): CreateSize {
  const sizes = pools.map((ref) => {
    const pool = cache.pools.get(ref);
    return pool === undefined ? noAmounts : poolsIn(cache).amountsOf(pool);
  });
  return {
    cpu: Math.max(0, ...sizes.map(({ cpuMilli }) => cpuMilli)) / 1000,
    memoryMiB: Math.max(0, ...sizes.map(({ memoryBytes }) => memoryBytes)) / 2 ** 20,
  };
}
