/**
 * How many pods pools have or are to have, in all and by team, kept at every change of a pool and of its pods: so that one that grows does
 * not look at all. Pods that another pool of this process is about to make count before they are there.
 */
import { KeptSums } from "#lib/kept-sums.ts";
import { formatKey, type Key, parseKey } from "#kube/controller/key.ts";
import type { ChangeSource } from "#kube/controller/source.ts";
import { poolOf } from "#model/claimed-pod.ts";
import { labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { keyOf } from "#controllers/pool/pool-deps.ts";
import type { PodsUnderWay } from "./pods-under-way.ts";

export interface PoolSumsDeps {
  /** Living pods of a pool, as they are known now. */
  readonly living: (pool: Key) => number;
  readonly pool: (key: Key) => SandboxPool | undefined;
  readonly underWay: Pick<PodsUnderWay, "pools" | "upTo">;
}

export class PoolSums {
  readonly #deps: PoolSumsDeps;
  readonly #pods = new KeptSums<string>();

  constructor(deps: PoolSumsDeps) {
    this.#deps = deps;
  }

  /** Returns what ends it. */
  follow({ pools, pods }: { readonly pools: ChangeSource<SandboxPool>; readonly pods: ChangeSource<Pod> }): () => void {
    const ofPools = pools.onChange((now, before) => {
      const pool = now ?? before;
      if (pool !== undefined) this.put(pool, now !== undefined);
    });
    const ofPods = pods.onChange((now, before) => {
      const pod = now ?? before;
      const name = pod && poolOf(pod);
      const pool = name === undefined ? undefined : this.#deps.pool({ namespace: pod?.metadata.namespace, name });
      if (pool !== undefined) this.put(pool, true);
    });
    return () => {
      ofPools.remove();
      ofPods.remove();
    };
  }

  put(pool: SandboxPool, isThere: boolean): void {
    const pods = this.#settled(pool);
    const team = teamOf(pool);
    this.#pods.put(formatKey(keyOf(pool)), isThere ? { [inAll]: pods, ...(team === "" ? {} : { [team]: pods }) } : undefined);
  }

  /** Pods that the pool has, is to have, or is about to have. */
  podsOf(pool: SandboxPool): number {
    return Math.max(this.#settled(pool), this.#deps.underWay.upTo(keyOf(pool)));
  }

  /** Of all pools but this one. */
  podsOfOthers(pool: SandboxPool): { readonly all: number; readonly ofTeam: number } {
    const key = formatKey(keyOf(pool));
    const team = teamOf(pool);
    const coming = { all: 0, ofTeam: 0 };
    for (const [other, upTo] of this.#deps.underWay.pools()) {
      const object = other === key ? undefined : this.#deps.pool(parseKey(other));
      if (object === undefined) continue;
      const more = Math.max(0, upTo - this.#settled(object));
      coming.all += more;
      if (teamOf(object) === team) coming.ofTeam += more;
    }
    return {
      all: this.#pods.ofOthers(key, inAll) + coming.all,
      ofTeam: team === "" ? 0 : this.#pods.ofOthers(key, team) + coming.ofTeam,
    };
  }

  /** Pods for waiting requests are there before the number of wanted ones follows. */
  #settled(pool: SandboxPool): number {
    return Math.max(pool.spec.replicas, this.#deps.living(keyOf(pool)));
  }
}

/** No team is called like this: a team has a name. */
const inAll = "";

export function teamOf({ metadata: { labels } }: SandboxPool): string {
  return labels?.[labelKeys.team] ?? "";
}
