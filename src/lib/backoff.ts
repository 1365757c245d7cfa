/** Computes waiting times: growing delays between attempts, with jitter, so that many waiting callers do not retry together. */

/** A number of at least 0 and less than 1, as `Math.random` gives. */
export type Random = () => number;

export interface Backoff {
  /** The delay before the first retry, without chance. */
  readonly baseMs: number;
  /** No delay is longer. */
  readonly maxMs: number;
  /** What each further failure multiplies the delay with. */
  readonly factor?: number;
  /** `full`: anything from nothing to the delay; spreads best. `equal`: at least half of it; never retries at once. */
  readonly jitter: "full" | "equal";
}

/** How long to wait after the `failures`-th failure in a row (counted from 1), in whole milliseconds. */
export function backoffMs(backoff: Backoff, failures: number, random: Random): number {
  const grown = backoff.baseMs * (backoff.factor ?? 2) ** Math.max(0, failures - 1);
  const delay = Math.min(backoff.maxMs, grown);
  const certain = backoff.jitter === "equal" ? delay / 2 : 0;
  return Math.round(certain + (delay - certain) * random());
}

/**
 * `ms` give or take a `share` of it (0.2 is ±20 %), in whole milliseconds. Rounded up: a caller that waits for a deadline and
 * wakes a little early comes nearer to it by at least a millisecond each time, instead of ever smaller steps.
 */
export function spread(ms: number, share: number, random: Random): number {
  return Math.ceil(ms * (1 - share + 2 * share * random()));
}
