/** One sandbox as it changes, to its end. Whoever reads slowly misses what came between, never the end. */
import type { Caller } from "./caller.ts";
import { type FindDeps, findPod, findRecord, findSandbox, noSuchSandbox } from "./find-sandbox.ts";
import type { LiveSandboxes } from "./live-sandboxes.ts";
import type { SandboxDetail } from "./sandbox-service.ts";
import { viewOf } from "./sandbox-view.ts";
import { statusDetailFromPod } from "#sandbox/diagnosis.ts";

export interface WatchDeps extends FindDeps {
  readonly live: Pick<LiveSandboxes, "follow">;
}

export async function* watchSandbox(
  deps: WatchDeps,
  caller: Caller,
  sandboxId: string,
  signal: AbortSignal,
): AsyncGenerator<SandboxDetail, void> {
  using changes = new Changes(deps, sandboxId, signal);
  // From here on the cache has it, whoever made it a moment ago.
  await findSandbox(deps, caller, sandboxId);
  let shown: string | undefined;
  while (!signal.aborted) {
    // Before looking: what changes afterwards is looked at again.
    changes.forget();
    const detail = detailOf(deps, caller, sandboxId);
    if (detail === undefined) {
      // The record is there before the pod forgets the sandbox (I3).
      const record = await findRecord(deps, caller, sandboxId);
      if (record !== undefined) yield record;
      else if (shown === undefined) throw noSuchSandbox(sandboxId);
      return;
    }
    const text = JSON.stringify(detail);
    if (text !== shown) yield detail;
    shown = text;
    await changes.next();
  }
}

/** From the pod alone: events are read for whoever asks once. */
function detailOf(deps: WatchDeps, caller: Caller, sandboxId: string): SandboxDetail | undefined {
  const pod = findPod(deps, caller, sandboxId);
  const view = pod && viewOf(pod);
  if (pod === undefined || view === undefined) return undefined;
  const diagnosis = statusDetailFromPod(pod);
  return diagnosis === undefined ? view : { ...view, diagnosis };
}

/** Whether something has changed, for one reader. */
class Changes implements Disposable {
  readonly #stop: () => void;
  #changed = false;
  #wake = (): void => {};

  constructor({ live }: WatchDeps, sandboxId: string, signal: AbortSignal) {
    const note = (): void => {
      this.#changed = true;
      this.#wake();
    };
    const unfollow = live.follow(sandboxId, note);
    signal.addEventListener("abort", note);
    this.#stop = () => {
      unfollow();
      signal.removeEventListener("abort", note);
    };
  }

  forget(): void {
    this.#changed = false;
  }

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#changed) resolve();
    });
  }

  [Symbol.dispose](): void {
    this.#stop();
  }
}
