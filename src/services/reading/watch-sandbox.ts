/** Watches one sandbox until its end. A slow reader misses states in between, but never the end. */
import type { Clock, Timer } from "#lib/clock.ts";
import { isClaimed } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import type { Caller } from "#services/caller.ts";
import { type FindDeps, findPod, findRecord, findSandbox, noSuchSandbox } from "./find-sandbox.ts";
import type { LiveSandboxes } from "./live-sandboxes.ts";
import type { SandboxDetail } from "#services/sandbox-service.ts";
import { viewOf } from "./sandbox-view.ts";
import { lastStatusDetail } from "#sandbox/health/status-note.ts";

export interface WatchDeps extends FindDeps {
  readonly live: Pick<LiveSandboxes, "follow">;
  readonly clock: Clock;
}

/** No event announces that a record has been written, and a pod may rest for minutes before it changes again. */
const lookAgainMs = 1000;

export async function* watchSandbox(
  deps: WatchDeps,
  caller: Caller,
  sandboxId: string,
  signal: AbortSignal,
): AsyncGenerator<SandboxDetail, void> {
  using changes = new Changes(deps, sandboxId, signal);
  // From here on the cache has it, even if another process created it a moment ago.
  const { record } = await findSandbox(deps, caller, sandboxId);
  if (record !== undefined) return yield record;
  let shown: string | undefined;
  while (!signal.aborted) {
    // Before looking: what changes afterwards is looked at again.
    changes.forget();
    const pod = findPod(deps, caller, sandboxId);
    const isOver = pod === undefined || !isClaimed(pod);
    const ended = isOver ? await findRecord(deps, caller, sandboxId) : undefined;
    if (ended !== undefined) return yield ended;
    const detail = pod && detailOf(pod);
    if (detail === undefined) {
      // The record is there before the pod forgets the sandbox (I3), so there never was one.
      if (shown === undefined) throw noSuchSandbox(sandboxId);
      return;
    }
    const text = JSON.stringify(detail);
    if (text !== shown) yield detail;
    shown = text;
    await changes.next(isOver ? lookAgainMs : undefined);
  }
}

/** Only from the pod: events are read for single requests only. */
function detailOf(pod: Pod): SandboxDetail | undefined {
  const view = viewOf(pod);
  if (view === undefined) return undefined;
  const diagnosis = lastStatusDetail(pod);
  return diagnosis === undefined ? view : { ...view, diagnosis };
}

/** Whether something has changed, for one reader. */
class Changes implements Disposable {
  readonly #clock: Clock;
  readonly #stop: () => void;
  #changed = false;
  #wake = (): void => {};

  constructor({ live, clock }: WatchDeps, sandboxId: string, signal: AbortSignal) {
    this.#clock = clock;
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

  /** Resolves when something has changed, or after so much time. */
  next(withinMs: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      let timer: Timer | undefined;
      this.#wake = () => {
        timer?.cancel();
        resolve();
      };
      if (this.#changed) this.#wake();
      else if (withinMs !== undefined) timer = this.#clock.after(withinMs, this.#wake);
    });
  }

  [Symbol.dispose](): void {
    this.#stop();
  }
}
