/** How many pods pools have or are to have, in all and by team, kept at every change of a pool: so that one that grows does not look at all. */
import { KeptSums } from "#lib/kept-sums.ts";
import { formatKey } from "#kube/controller/key.ts";
import type { ChangeSource } from "#kube/controller/source.ts";
import { labelKeys } from "#model/keys.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { heldPods } from "#plugins/machine-use.ts";
import { keyOf } from "#controllers/pool/pool-deps.ts";

export class PoolSums {
  readonly #pods = new KeptSums<string>();

  /** Returns what ends it. */
  follow(pools: ChangeSource<SandboxPool>): () => void {
    const connection = pools.onChange((now, before) => {
      const pool = now ?? before;
      if (pool !== undefined) this.put(pool, now !== undefined);
    });
    return () => connection.remove();
  }

  put(pool: SandboxPool, isThere: boolean): void {
    const pods = heldPods(pool);
    const team = teamOf(pool);
    this.#pods.put(formatKey(keyOf(pool)), isThere ? { [inAll]: pods, ...(team === "" ? {} : { [team]: pods }) } : undefined);
  }

  /** Of all pools but this one. */
  podsOfOthers(pool: SandboxPool): { readonly all: number; readonly ofTeam: number } {
    const key = formatKey(keyOf(pool));
    const team = teamOf(pool);
    return { all: this.#pods.ofOthers(key, inAll), ofTeam: team === "" ? 0 : this.#pods.ofOthers(key, team) };
  }
}

/** No team is called like this: a team has a name. */
const inAll = "";

export function teamOf({ metadata: { labels } }: SandboxPool): string {
  return labels?.[labelKeys.team] ?? "";
}
