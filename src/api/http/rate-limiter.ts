/**
 * How often a key may ask: a bucket of tokens that fills at a steady rate. Buckets are of this process; where several serve the same
 * keys, each gives out its share of the rate, so that a key has no more than its rate in all of them together.
 */
import type { Clock } from "#lib/clock.ts";
import { TokenBuckets } from "#lib/token-buckets.ts";
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

export function rateLimiter({ perSecond, burst, processes = () => 1 }: RateLimit, clock: Clock): RateLimiter {
  if (perSecond <= 0) return { take: () => {} };
  const buckets = new TokenBuckets(clock);
  return {
    take: (keyId) => {
      const among = Math.max(1, processes());
      const wait = buckets.take(keyId, { perSecond: perSecond / among, burst: Math.max(1, burst / among) });
      if (wait === undefined) return;
      throw new ServiceError("rate_limited", `this key may ask ${perSecond} times a second`, { retryAfterSeconds: Math.ceil(wait) });
    },
  };
}
