/**
 * How many pods of a node get new containers now. An exchange costs a node some twenty times as much as a create, so it yields to claims while idle pods
 * are left: then exchanges begin one by one, with pauses. Without claims, a node runs as many as it handles best. If a pool is short of pods, exchanges do
 * not wait.
 */
export interface RecycleSituation {
  /** Pods that wait for their new containers. */
  readonly resting: number;
  /** Those whose pool has hardly an idle pod left, or a waiting request. */
  readonly wanted: number;
  /** Pods whose containers are being exchanged. */
  readonly recycling: number;
  /** Whether pods of the node were claimed a moment ago. */
  readonly isClaiming: boolean;
  /** Since the last recycling on this node began. */
  readonly sinceLastMs: number;
}

export interface RecyclePace {
  /** At a time, where a pool is short of pods. */
  readonly mostAtOnce: number;
  /** At a time, where nothing else is to be done. */
  readonly atOnce: number;
  /** Between the beginnings of two, beside claims. */
  readonly besideClaimsMs: number;
  /** For how long a node counts as busy after a claim. */
  readonly claimedLatelyMs: number;
}

export const usualRecyclePace: RecyclePace = { mostAtOnce: 12, atOnce: 4, besideClaimsMs: 3_000, claimedLatelyMs: 500 };

export interface RecycleStarts {
  readonly start: number;
  /** When to look again; undefined where a pod that changes tells of it. */
  readonly againInMs: number | undefined;
}

export function planRecycleStarts(
  { resting, wanted, recycling, isClaiming, sinceLastMs }: RecycleSituation,
  pace: RecyclePace,
): RecycleStarts {
  if (resting <= 0) return { start: 0, againInMs: undefined };
  if (wanted > 0) return { start: Math.max(0, Math.min(wanted, pace.mostAtOnce - recycling)), againInMs: undefined };
  const room = Math.max(0, pace.atOnce - recycling);
  if (!isClaiming) return { start: Math.min(resting, room), againInMs: undefined };
  if (room === 0) return { start: 0, againInMs: pace.claimedLatelyMs };
  if (sinceLastMs < pace.besideClaimsMs) return { start: 0, againInMs: Math.min(pace.claimedLatelyMs, pace.besideClaimsMs - sinceLastMs) };
  return { start: 1, againInMs: Math.min(pace.claimedLatelyMs, pace.besideClaimsMs) };
}
