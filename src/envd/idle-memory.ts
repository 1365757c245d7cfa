import type { EventEmitter } from "node:events";

/** Long enough that a burst of starting sandboxes is over, short enough that the memory is not paid for long. */
const firstAfterMs = 3000;
/** A probe leaves about 4 KB behind. Collecting takes 10 ms: once per so many requests it is never felt. */
const requestsBetween = 64;
/** An answer that is under way is not held up. */
const pauseMs = 20;

/**
 * Keeps a daemon that is only asked whether it lives as small as it was: V8 collects when a space is full, and the
 * spaces of a process that does next to nothing take hours to fill and stay grown. `later` is setTimeout (the clock of
 * lib brings node:os, 0.3 MB).
 */
export function keepSmall(requests: EventEmitter, later: (run: () => void, ms: number) => void, collect: () => void): void {
  let since = 0;
  later(collect, firstAfterMs);
  requests.on("request", () => {
    since += 1;
    if (since !== requestsBetween) return;
    later(() => {
      since = 0;
      collect();
    }, pauseMs);
  });
}

/** With all caches and pages that can be given back; does nothing in a process that was started without --expose-gc. */
export function collectGarbage(): void {
  // What V8 does before it gives up: code and caches are thrown away too.
  globalThis.gc?.({ type: "major", flavor: "last-resort" });
}
