/**
 * Tells other processes how many creates wait here: the pool controller may run in one of them. Only what changes is told, and its
 * teller takes care that it is not told too often.
 */
import type { Clock, Timer } from "#lib/clock.ts";
import { formatDemand } from "#model/claim-demand.ts";
import { poolKey, type PoolRef } from "#scheduling/pool-ref.ts";
import type { SandboxClaims } from "./sandbox-claims.ts";

export interface DemandDeps {
  readonly claims: Pick<SandboxClaims, "pending" | "onWaiting">;
  /** Takes the whole demand each time; undefined when nobody waits. */
  readonly tell: (demand: string | undefined) => void;
  readonly clock: Clock;
}

/** Requests begin to wait with an event and end without one: while there are any they are counted anew this often. */
const countEveryMs = 1_000;

export function publishDemand({ claims, tell, clock }: DemandDeps): Disposable {
  const waited = new Map<string, PoolRef>();
  let timer: Timer | undefined;
  const count = (): void => {
    timer = undefined;
    const demand = new Map<string, number>();
    for (const [key, pool] of waited) {
      const waiting = claims.pending(pool);
      if (waiting === 0) waited.delete(key);
      else demand.set(key, waiting);
    }
    tell(formatDemand(demand));
    if (waited.size > 0) timer = clock.after(countEveryMs, count);
  };
  const stop = claims.onWaiting((pool) => {
    waited.set(poolKey(pool), pool);
    // Those who come in the same turn are counted together; later ones with the next count.
    timer ??= clock.after(0, count);
  });
  return {
    [Symbol.dispose]: () => {
      stop();
      timer?.cancel();
    },
  };
}
