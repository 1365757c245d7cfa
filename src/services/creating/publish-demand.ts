/**
 * Tells other processes how many creates wait here: the pool controller may run in one of them. Only what changes is told, and the
 * caller's `tell` limits how often.
 */
import type { Clock, Timer } from "#lib/clock.ts";
import { formatDemand } from "#model/claim-demand.ts";
import type { SandboxClaims } from "./sandbox-claims.ts";

export interface DemandDeps {
  readonly claims: Pick<SandboxClaims, "waitingSets" | "onWaiting">;
  /** Takes the whole demand each time; undefined when no request waits. */
  readonly tell: (demand: string | undefined) => void;
  readonly clock: Clock;
}

/** Requests begin to wait with an event and end without one: while there are any they are counted anew this often. */
const countEveryMs = 1_000;

export function publishDemand({ claims, tell, clock }: DemandDeps): Disposable {
  let timer: Timer | undefined;
  const count = (): void => {
    timer = undefined;
    const demand = formatDemand(claims.waitingSets());
    tell(demand);
    if (demand !== undefined) timer = clock.after(countEveryMs, count);
  };
  const stop = claims.onWaiting(() => {
    // Requests of the same turn are counted together, later ones with the next count.
    timer ??= clock.after(0, count);
  });
  return {
    [Symbol.dispose]: () => {
      stop();
      timer?.cancel();
    },
  };
}
