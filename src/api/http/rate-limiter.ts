/**
 * How often a key may ask: a bucket of tokens that fills at a steady rate. Buckets are of this process; where several serve the same
 * keys, each gives out its share of the rate, so that a key has no more than its rate in all of them together.
 */
import type { Clock } from "#lib/clock.ts";
import { ServiceError } from "#services/service-error.ts";

export interface RateLimit {
  /** Requests per second for each key; 0: as many as they like. */
  readonly perSecond: number;
  /** How many may come at once after a quiet time. */
  readonly burst: number;
  /** How many processes serve the keys, this one included; 1 when left out. May be a fraction while one comes or goes. */
  readonly processes?: () => number;
}

export interface RateLimiter {
  /** Throws `rate_limited` with the seconds after which there is a token again. */
  take(keyId: string): void;
}

interface Bucket {
  tokens: number;
  at: number;
}

/** Keys come and go; full buckets say nothing, and are dropped when there are so many. */
const sweepAt = 10_000;

export function rateLimiter({ perSecond, burst, processes = () => 1 }: RateLimit, clock: Clock): RateLimiter {
  if (perSecond <= 0) return { take: () => {} };
  const buckets = new Map<string, Bucket>();
  return {
    take: (keyId) => {
      const now = clock.now();
      const among = Math.max(1, processes());
      const rate = perSecond / among;
      const most = Math.max(1, burst / among);
      // A clock that was set back takes nothing away.
      const filled = ({ tokens, at }: Bucket): number => Math.min(most, tokens + (Math.max(0, now - at) / 1000) * rate);
      if (buckets.size >= sweepAt) {
        for (const [id, bucket] of buckets) if (filled(bucket) >= most) buckets.delete(id);
      }
      const bucket = buckets.get(keyId);
      const tokens = bucket === undefined ? most : filled(bucket);
      if (tokens < 1) {
        const retryAfterSeconds = Math.ceil((1 - tokens) / rate);
        throw new ServiceError("rate_limited", `this key may ask ${perSecond} times a second`, { retryAfterSeconds });
      }
      buckets.set(keyId, { tokens: tokens - 1, at: now });
    },
  };
}
