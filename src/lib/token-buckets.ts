/** Buckets of tokens, by name, that fill at a steady rate: how often something may happen. */
import type { Clock } from "./clock.ts";

export interface BucketPace {
  readonly perSecond: number;
  /** How many may be taken at once after a quiet time. */
  readonly burst: number;
}

interface Bucket {
  tokens: number;
  at: number;
  pace: BucketPace;
}

/** Names come and go; full buckets say nothing, and are dropped when there are so many. */
const sweepAt = 10_000;

export class TokenBuckets {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes a token. When there is none: the seconds after which there will be one. */
  take(name: string, pace: BucketPace): number | undefined {
    const now = this.#clock.now();
    if (this.#buckets.size >= sweepAt) this.#sweep(now);
    const bucket = this.#buckets.get(name);
    const tokens = bucket === undefined ? pace.burst : filled(bucket, pace, now);
    if (tokens < 1) return (1 - tokens) / pace.perSecond;
    this.#buckets.set(name, { tokens: tokens - 1, at: now, pace });
    return undefined;
  }

  #sweep(now: number): void {
    for (const [name, bucket] of this.#buckets) if (filled(bucket, bucket.pace, now) >= bucket.pace.burst) this.#buckets.delete(name);
  }
}

/** A clock that was set back takes nothing away. */
function filled({ tokens, at }: Bucket, { perSecond, burst }: BucketPace, now: number): number {
  return Math.min(burst, tokens + (Math.max(0, now - at) / 1000) * perSecond);
}
