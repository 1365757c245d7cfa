/** How many requests wait for a pod of which pools. A request that several pools could serve is counted once, at its set of pools. */
import type { WaitingSet } from "#model/claim-demand.ts";
import { poolKey, type PoolRef } from "./pool-ref.ts";

interface Counted {
  readonly pools: readonly string[];
  count: number;
}

export class WaitingSets {
  readonly #sets = new Map<string, Counted>();
  readonly #ofPool = new Map<string, Set<Counted>>();

  /** Returns what takes the request out again. Only the first call counts. */
  add(pools: Iterable<PoolRef>): () => void {
    const set = this.#of([...new Set(Array.from(pools, poolKey))].sort());
    set.count += 1;
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      set.count -= 1;
      if (set.count === 0) this.#drop(set);
    };
  }

  /** Those that contain the pool. */
  at(pool: PoolRef): readonly WaitingSet[] {
    return Array.from(this.#ofPool.get(poolKey(pool)) ?? [], ({ pools, count }) => ({ pools, count }));
  }

  all(): readonly WaitingSet[] {
    return Array.from(this.#sets.values(), ({ pools, count }) => ({ pools, count }));
  }

  #of(pools: readonly string[]): Counted {
    const key = pools.join(",");
    const there = this.#sets.get(key);
    if (there !== undefined) return there;
    const set: Counted = { pools, count: 0 };
    this.#sets.set(key, set);
    for (const pool of pools) {
      const sets = this.#ofPool.get(pool) ?? new Set();
      this.#ofPool.set(pool, sets.add(set));
    }
    return set;
  }

  #drop(set: Counted): void {
    this.#sets.delete(set.pools.join(","));
    for (const pool of set.pools) {
      const sets = this.#ofPool.get(pool);
      sets?.delete(set);
      if (sets?.size === 0) this.#ofPool.delete(pool);
    }
  }
}
