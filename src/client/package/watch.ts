import { followChanges } from "../changes.ts";
import type { HttpCaller } from "../http-caller.ts";
import type { Change } from "./change.ts";

/** Ends with the signal, or when the caller stops reading. */
export async function* watchChanges(http: HttpCaller, signal: AbortSignal | undefined): AsyncGenerator<Change, void> {
  const stop = new AbortController();
  const found: Change[] = [];
  let wake = Promise.withResolvers<void>();
  let isOver = false;
  let failure: unknown;
  const listener = {
    onChanges: (changes: readonly unknown[]) => {
      found.push(...(changes as readonly Change[]));
      wake.resolve();
    },
    onState: () => {},
  };
  const over = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  void followChanges(http, listener, over)
    .catch((error: unknown) => (failure = error))
    .finally(() => {
      isOver = true;
      wake.resolve();
    });
  try {
    for (;;) {
      yield* found.splice(0);
      if (isOver) break;
      await wake.promise;
      wake = Promise.withResolvers<void>();
    }
    if (failure !== undefined) throw failure;
  } finally {
    stop.abort();
  }
}
