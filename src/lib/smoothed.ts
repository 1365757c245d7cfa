import type { MonotonicClock } from "./clock.ts";

/**
 * A number that follows another without leaps: it comes nearer by about two thirds of the difference in every `overMs`. For what
 * many others are computed from, and which may change by a step.
 */
export function smoothed(read: () => number, clock: MonotonicClock, overMs: number): () => number {
  let value = read();
  let at = clock.monotonic();
  return () => {
    const now = clock.monotonic();
    value += (read() - value) * (1 - Math.exp(-Math.max(0, now - at) / overMs));
    at = now;
    return value;
  };
}
