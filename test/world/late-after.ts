import type { Clock } from "#lib/clock.ts";

/** A signal for a caller that may wait so long, and no longer. */
export function lateAfter(clock: Clock, ms: number): AbortSignal {
  const late = new AbortController();
  if (ms <= 0) late.abort();
  else clock.after(ms, () => late.abort());
  return late.signal;
}
