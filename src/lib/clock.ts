import { uptime } from "node:os";
import { processTurns, type Turns } from "./turns.ts";

/** Time as a dependency: everything that waits or dates takes a Clock, so that tests step it instead of sleeping. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `run` once, `ms` from now, unless the returned timer is cancelled before. */
  after(ms: number, run: () => void): Timer;
  /** Shares the time of the process between large work and everything else (turns.ts). Left out where time is stepped: nothing else waits there. */
  readonly turns?: Turns;
}

export interface Timer {
  cancel(): void;
}

/** A clock that also tells how much time has passed, whatever is done to the time of day. */
export interface MonotonicClock extends Clock {
  /** Milliseconds since some moment. Never leaps or goes back, and goes on while the machine sleeps, unlike timers. */
  monotonic(): number;
}

/** Every event of a watch asks for the time, and the machine's time since boot is read from a file. */
const readAgainMs = 50;

/**
 * The value of `read`, carried on by `awake` until it is read again: a clock that costs nothing and stands still while the machine sleeps.
 * Right after a sleep it shows the time right before it, as if it had been read then.
 */
export function carriedReading(read: () => number, awake: () => number): () => number {
  let last = 0;
  let readAt = -Infinity;
  let told = -Infinity;
  return () => {
    const now = awake();
    if (now - readAt >= readAgainMs) [last, readAt] = [read(), now];
    // The file has steps, and may be behind what was told already.
    return (told = Math.max(told, last + now - readAt));
  };
}

/** The machine's clock. A timer keeps the process alive, so a part that stops cancels its timers. */
export const systemClock: MonotonicClock = {
  now: () => Date.now(),
  // Time since boot counts sleep; `performance.now()` does not, and a leader that slept must notice.
  monotonic: carriedReading(
    () => uptime() * 1000,
    () => performance.now(),
  ),
  after: (ms, run) => {
    const handle = setTimeout(run, ms);
    return { cancel: () => clearTimeout(handle) };
  },
  turns: processTurns,
};

/** Resolves after `ms`, or rejects with the signal's reason as soon as it is aborted. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = (): void => {
      timer.cancel();
      reject(signal?.reason as Error);
    };
    const timer = clock.after(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** True if the promise is settled within this time, well or badly. The promise itself goes on. */
export async function endsWithin(promise: Promise<unknown>, clock: Clock, ms: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = clock.after(ms, () => resolve(false));
  const settled = promise.then(
    () => true,
    () => true,
  );
  const isInTime = await Promise.race([settled, late]);
  timer.cancel();
  return isInTime;
}

/** The form in which Kubernetes writes times: RFC 3339, UTC, whole seconds. */
export function kubernetesTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** The finer form that Leases and Events use: exactly six digits after the second. */
export function kubernetesMicroTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000Z`;
}
