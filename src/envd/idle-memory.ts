import type { EventEmitter } from "node:events";

/** Long enough for a burst of starting sandboxes to end, short enough to save the memory soon. */
const firstAfterMs = 5000;
/** A probe leaves about 4 KB of garbage. A collection takes 10 ms: rare enough to go unnoticed. */
const requestsBetween = 64;
/** An open request is not delayed. */
const pauseMs = 20;

/**
 * Keeps a daemon that only answers probes as small as it was: V8 collects when a space is full, and in a nearly idle process the spaces take hours to fill
 * and then stay large. `later` is setTimeout (the clock of lib loads node:os, 0.3 MB). `first` replaces the first collection after the start; it collects
 * too.
 */
export function keepSmall(
  requests: EventEmitter,
  later: (run: () => void, ms: number) => void,
  collect: () => void,
  first: () => void = collect,
): void {
  let since = 0;
  later(first, firstAfterMs);
  requests.on("request", () => {
    since += 1;
    if (since !== requestsBetween) return;
    later(() => {
      since = 0;
      collect();
    }, pauseMs);
  });
}

/** Also drops all caches and free pages. */
export function collectGarbage(): void {
  collector ??= openCollector();
  // What V8 does as a last resort: it also discards code and caches.
  collector({ type: "major", flavor: "last-resort" });
}

let collector: NodeJS.GCFunction | undefined;

/**
 * Like --expose-gc, but from a context of its own: a process started with that flag refuses the compiled code that Node ships for its own modules and
 * compiles all of them.
 */
function openCollector(): NodeJS.GCFunction {
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  // Modules loaded before the flag is set keep their compiled code.
  const { runInNewContext } = process.getBuiltinModule("node:vm");
  setFlagsFromString("--expose-gc");
  const found = runInNewContext("gc") as NodeJS.GCFunction;
  setFlagsFromString("--no-expose-gc");
  return found;
}
