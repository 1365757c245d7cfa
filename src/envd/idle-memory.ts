import type { EventEmitter } from "node:events";

/** Long enough that a burst of starting sandboxes is over, short enough that the memory is not paid for long. */
const firstAfterMs = 5000;
/** A probe leaves about 4 KB behind. Collecting takes 10 ms: once per so many requests it is never felt. */
const requestsBetween = 64;
/** An answer that is under way is not held up. */
const pauseMs = 20;

/**
 * Keeps a daemon that is only asked whether it lives as small as it was: V8 collects when a space is full, and the
 * spaces of a process that does next to nothing take hours to fill and stay grown. `later` is setTimeout (the clock of
 * lib brings node:os, 0.3 MB). `first` is what is done instead when the start is over: it collects too.
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

/** With all caches and pages that can be given back. */
export function collectGarbage(): void {
  collector ??= openCollector();
  // What V8 does before it gives up: code and caches are thrown away too.
  collector({ type: "major", flavor: "last-resort" });
}

let collector: NodeJS.GCFunction | undefined;

/**
 * As --expose-gc gives it, but by a context of its own: a process that is started with that flag refuses the compiled code which Node
 * brings for its own modules, and compiles all of them.
 */
function openCollector(): NodeJS.GCFunction {
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  // Loaded before the flag is there.
  const { runInNewContext } = process.getBuiltinModule("node:vm");
  setFlagsFromString("--expose-gc");
  const found = runInNewContext("gc") as NodeJS.GCFunction;
  setFlagsFromString("--no-expose-gc");
  return found;
}
