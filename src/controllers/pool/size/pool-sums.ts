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
import type { OtherPods } from "./pool-allotment.ts";

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
    const team = teamOf(pool);
    const counts = this.#counts(pool);
    const amounts = (["wanted", "there"] as const).flatMap((what) =>
      [inAll, ...(team === "" ? [] : [team])].map((owner) => [`${what} ${owner}`, counts[what]] as const),
    );
    this.#pods.put(formatKey(keyOf(pool)), isThere ? Object.fromEntries(amounts) : undefined);
  }

  /** Pods that the pool has, is to have, or is about to have. */
  podsOf(pool: SandboxPool): number {
    return Math.max(this.#counts(pool).wanted, this.#deps.underWay.upTo(keyOf(pool)));
  }

  /** Of all pools but this one: pods that they have, are to have, or are about to have. */
  podsOfOthers(pool: SandboxPool): OtherPods {
    return this.#ofOthers("wanted", pool);
  }

  /** Without those that they are to have and that nothing makes now. */
  podsThereOfOthers(pool: SandboxPool): OtherPods {
    return this.#ofOthers("there", pool);
  }

  #ofOthers(what: keyof PodCounts, pool: SandboxPool): OtherPods {
    const key = formatKey(keyOf(pool));
    const team = teamOf(pool);
    const coming = { all: 0, ofTeam: 0 };
    for (const [other, upTo] of this.#deps.underWay.pools()) {
      const object = other === key ? undefined : this.#deps.pool(parseKey(other));
      if (object === undefined) continue;
      const more = Math.max(0, upTo - this.#counts(object)[what]);
      coming.all += more;
      if (teamOf(object) === team) coming.ofTeam += more;
    }
    const sum = (owner: string): number => this.#pods.ofOthers(key, `${what} ${owner}`);
    return { all: sum(inAll) + coming.all, ofTeam: team === "" ? 0 : sum(team) + coming.ofTeam };
  }

  /** Pods for waiting requests are there before the number of wanted ones follows. */
  #counts(pool: SandboxPool): PodCounts {
    const there = this.#deps.living(keyOf(pool));
    return { there, wanted: Math.max(pool.spec.replicas, there) };
  }
}

interface PodCounts {
  readonly wanted: number;
  readonly there: number;
}

/** No team is called like this: a team has a name. */
const inAll = "";

export function teamOf({ metadata: { labels } }: SandboxPool): string {
  return labels?.[labelKeys.team] ?? "";
}
