import type { SteppedClock } from "./stepped-clock.ts";

/** Advances simulated time whenever a timer waits for it, until the work (which also uses real sockets and files) is done. */
export async function patiently<T>(clock: SteppedClock, work: Promise<T>): Promise<T> {
  const state = { done: false };
  const settled = work.finally(() => {
    state.done = true;
  });
  settled.catch(() => undefined);
  while (!state.done) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (clock.pending > 0) await clock.step(1000);
  }
  return settled;
}
