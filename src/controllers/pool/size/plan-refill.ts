/**
 * How many pods are made now, and when to look again. Starting pods slows down everything else on the same machine, so refill yields twice.
 * To claims, while there is something to claim: it holds back for a moment, then adds a few, and so on. And to requests that wait: the
 * pods for these are made at once, and those that nothing waits for only when these are there, or after a while.
 */
export interface RefillSituation {
  readonly missing: number;
  /** Idle pods that can be claimed. */
  readonly ready: number;
  readonly claimsInFlight: number;
  /** For how long refill has been holding back for claims. */
  readonly heldForMs: number;
  /** How many of the missing pods requests wait for; undefined where nothing waits. */
  readonly urgent: number | undefined;
  /** For how long pods that nothing waits for have been held back for others. */
  readonly stockHeldForMs: number;
}

export interface RefillPace {
  /** How long a moment is. */
  readonly yieldMs: number;
  /** How many pods are made after each moment of holding back. */
  readonly creationsBesideClaims: number;
  /** The most that are made in one go, so that the pool is looked at again before it has all of them. */
  readonly maxCreations: number;
  /** How long pods that nothing waits for are held back at most: requests may go on waiting for a long time. */
  readonly stockYieldMs: number;
}

export interface RefillPlan {
  readonly create: number;
  readonly againInMs: number | undefined;
  /** What it holds back for. */
  readonly yieldsTo?: "claims" | "waiting";
}

export function planRefill(situation: RefillSituation, pace: RefillPace): RefillPlan {
  const { missing, ready, claimsInFlight, heldForMs, urgent, stockHeldForMs } = situation;
  if (missing <= 0) return { create: 0, againInMs: undefined };
  if (urgent !== undefined && urgent < missing && stockHeldForMs < pace.stockYieldMs) {
    return { create: Math.min(urgent, pace.maxCreations), againInMs: pace.stockYieldMs - stockHeldForMs, yieldsTo: "waiting" };
  }
  const isYielding = claimsInFlight > 0 && ready > 0;
  // What is made wakes the pool by itself.
  if (!isYielding) return { create: Math.min(missing, pace.maxCreations), againInMs: undefined };
  if (heldForMs < pace.yieldMs) return { create: 0, againInMs: pace.yieldMs - heldForMs, yieldsTo: "claims" };
  return { create: Math.min(missing, pace.creationsBesideClaims), againInMs: pace.yieldMs, yieldsTo: "claims" };
}
