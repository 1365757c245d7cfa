/**
 * How often a key may ask: a bucket of tokens that fills at a steady rate. Buckets are of this process; with several API
 * processes behind a balancer a key can have the rate of each, which is enough to keep one client from drowning the others.
 */
import type { Clock } from "#lib/clock.ts";
import { ServiceError } from "#services/service-error.ts";

export interface RateLimit {
  /** Requests per second for each key; 0: as many as they like. */
  readonly perSecond: number;
  /** How many may come at once after a quiet time. */
  readonly burst: number;
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

export function rateLimiter({ perSecond, burst }: RateLimit, clock: Clock): RateLimiter {
  if (perSecond <= 0) return { take: () => {} };
  const most = Math.max(1, burst);
  const buckets = new Map<string, Bucket>();
  // A clock that was set back takes nothing away.
  const filled = ({ tokens, at }: Bucket, now: number): number => Math.min(most, tokens + (Math.max(0, now - at) / 1000) * perSecond);
  return {
    take: (keyId) => {
      const now = clock.now();
      if (buckets.size >= sweepAt) {
        for (const [id, bucket] of buckets) if (filled(bucket, now) >= most) buckets.delete(id);
      }
      const bucket = buckets.get(keyId);
      const tokens = bucket === undefined ? most : filled(bucket, now);
      if (tokens < 1) {
        const retryAfterSeconds = Math.ceil((1 - tokens) / perSecond);
        throw new ServiceError("rate_limited", `this key may ask ${perSecond} times a second`, { retryAfterSeconds });
      }
      buckets.set(keyId, { tokens: tokens - 1, at: now });
    },
  };
}
