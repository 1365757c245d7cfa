/**
 * How often a key may send requests: a bucket of tokens that fills at a steady rate. Each process has its own buckets. Where several processes serve the
 * same keys, each grants its share of the rate, so that a key does not exceed its rate in total.
 */
import type { Clock } from "#lib/clock.ts";
import { TokenBuckets } from "#lib/token-buckets.ts";
import { ServiceError } from "#services/service-error.ts";

export interface RateLimit {
  /** Requests per second for each key; 0: no limit. */
  readonly perSecond: number;
  /** Requests that may come at once after a quiet time. */
  readonly burst: number;
  /** Number of processes that serve the keys, with this one; 1 when left out. May be a fraction while a process starts or stops. */
  readonly processes?: () => number;
}

export interface RateLimiter {
  /** Throws `rate_limited` with the seconds until the next token. */
  take(keyId: string): void;
}

export function rateLimiter({ perSecond, burst, processes = () => 1 }: RateLimit, clock: Clock): RateLimiter {
  if (perSecond <= 0) return { take: () => {} };
  const buckets = new TokenBuckets(clock);
  return {
    take: (keyId) => {
      const among = Math.max(1, processes());
      const wait = buckets.take(keyId, { perSecond: perSecond / among, burst: Math.max(1, burst / among) });
      if (wait === undefined) return;
      throw new ServiceError("rate_limited", `this key may send ${perSecond} requests a second`, { retryAfterSeconds: Math.ceil(wait) });
    },
  };
}
