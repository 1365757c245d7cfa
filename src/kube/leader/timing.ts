/** How long a lease holds, how long its holder may lead on it, and how often both sides look. */
export interface LeaderTiming {
  /** For this long after its last change no other process takes the lease. Written into the lease in whole seconds, rounded up. */
  readonly leaseDurationMs: number;
  /** So long after the start of its last successful renewal the holder stops leading. */
  readonly renewDeadlineMs: number;
  /** The pause between tries, give or take a fifth. */
  readonly retryPeriodMs: number;
}

export const defaultTiming: LeaderTiming = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };

/** Of tries and their pauses. */
export const retrySpread = 0.2;

/** Clocks may run a little differently, and a write that was sent in time may land late: the gap is for those. */
const largestShareOfLease = 0.9;

export function checkTiming(timing: LeaderTiming): void {
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = timing;
  const wrong = (what: string): never => {
    throw new RangeError(`leader election timing ${JSON.stringify(timing)}: ${what}`);
  };
  if (!(retryPeriodMs > 0)) wrong("retryPeriodMs must be greater than 0");
  if (!(renewDeadlineMs >= 2 * retryPeriodMs))
    wrong("renewDeadlineMs must be at least twice retryPeriodMs, or one slow answer ends the leadership");
  if (!(renewDeadlineMs <= largestShareOfLease * leaseDurationMs)) {
    wrong(`renewDeadlineMs must be at most ${largestShareOfLease} of leaseDurationMs, or two could lead at once`);
  }
}
