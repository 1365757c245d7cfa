/**
 * How many pods to create now, and when to check again. Starting pods slows down claims on the same machine, so refilling yields to claims while idle pods
 * are left: it pauses, then adds a few, and so on. If requests wait for pods, it does not pause.
 */
export interface RefillSituation {
  readonly missing: number;
  /** Idle pods that can be claimed. */
  readonly ready: number;
  readonly claimsInFlight: number;
  /** For how long refill has been holding back. */
  readonly heldForMs: number;
}

export interface RefillPace {
  /** How long a moment is. */
  readonly yieldMs: number;
  /** How many pods are made after each moment of holding back. */
  readonly creationsBesideClaims: number;
  /** The most that are made in one go, so that the pool is looked at again before it has all of them. */
  readonly maxCreations: number;
}

export interface RefillPlan {
  readonly create: number;
  readonly againInMs: number | undefined;
}

export function planRefill({ missing, ready, claimsInFlight, heldForMs }: RefillSituation, pace: RefillPace): RefillPlan {
  if (missing <= 0) return { create: 0, againInMs: undefined };
  const isYielding = claimsInFlight > 0 && ready > 0;
  // What is made wakes the pool by itself.
  if (!isYielding) return { create: Math.min(missing, pace.maxCreations), againInMs: undefined };
  if (heldForMs < pace.yieldMs) return { create: 0, againInMs: pace.yieldMs - heldForMs };
  return { create: Math.min(missing, pace.creationsBesideClaims), againInMs: pace.yieldMs };
}
