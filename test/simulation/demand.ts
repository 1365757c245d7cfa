/** Requests that wait in all processes that take some, as the controllers hear of them: at once, and without those of a process that was killed. */
import type { ClaimPressure } from "#life/claim/claim-pressure.ts";
import type { Key } from "#kube/controller/key.ts";
import type { WaitingSet } from "#model/claim-demand.ts";
import type { PoolRef } from "#scheduling/pool-ref.ts";
import type { SandboxClaims } from "#services/creating/sandbox-claims.ts";

type Claims = Pick<SandboxClaims, "pending" | "waitingSets" | "inFlight" | "onWaiting">;

export class DemandOfAll implements ClaimPressure {
  readonly #claims = new Map<string, Claims>();
  readonly #handlers = new Set<(pool: Key) => void>();

  join(process: string, claims: Claims): void {
    this.#claims.set(process, claims);
    claims.onWaiting((pool) => {
      if (this.#claims.get(process) === claims) for (const handler of this.#handlers) handler(pool);
    });
  }

  leave(process: string): void {
    this.#claims.delete(process);
  }

  /** Refill yields to claims of its own process only, and controllers have none. */
  inFlight(): number {
    return 0;
  }

  waiting(pool: Key): number {
    return this.setsAt(pool).reduce((sum, { count }) => sum + count, 0);
  }

  setsAt(pool: Key): readonly WaitingSet[] {
    const counts = new Map<string, WaitingSet>();
    for (const { pools, count } of this.#claims.values().flatMap((claims) => claims.waitingSets(refOf(pool)))) {
      const key = pools.join(",");
      counts.set(key, { pools, count: count + (counts.get(key)?.count ?? 0) });
    }
    return [...counts.values()];
  }

  onWaiting(handler: (pool: Key) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }
}

function refOf({ namespace = "", name }: Key): PoolRef {
  return { namespace, name };
}
