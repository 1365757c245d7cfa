import type { Timer } from "#lib/clock.ts";
import { BackgroundLoop, type StepOutcome } from "./background-loop.ts";
import type { StoreState } from "./store-state.ts";

/** How much history is kept for watchers that resume and lists that go on: at least so many versions, and at least so long. */
export interface History {
  readonly revisions: number;
  readonly ms: number;
}

export const defaultHistory: History = { revisions: 10_000, ms: 5 * 60_000 };

/** How often the compactor looks whether there is anything to forget. */
const everyMs = 10_000;

/** How many revisions one step forgets: a few milliseconds' worth. */
const perStep = 200;

/** Forgets old history and gives back its space, in the background and a little at a time, so that the file does not grow for ever. */
export class Compactor {
  readonly #state: StoreState;
  readonly #history: History;
  readonly #loop: BackgroundLoop;
  #timer: Timer;

  constructor(state: StoreState, history: History, onError: (error: unknown) => void) {
    this.#state = state;
    this.#history = history;
    this.#loop = new BackgroundLoop({ step: () => (this.#forget() === "more" ? "more" : this.#giveBack()), clock: state.clock, onError });
    this.#timer = this.#schedule();
  }

  stop(): void {
    this.#timer.cancel();
    this.#loop.stop();
  }

  #schedule(): Timer {
    return this.#state.clock.after(everyMs, () => {
      this.#loop.wake();
      this.#timer = this.#schedule();
    });
  }

  #giveBack(): StepOutcome {
    return this.#state.log.giveBackSome() ? "more" : "idle";
  }

  #forget(): StepOutcome {
    const { log, clock, newest } = this.#state;
    const newestToForget = newest - this.#history.revisions;
    if (newestToForget <= log.compacted) return "idle";
    const now = clock.now();
    // A time in the future comes from a clock that was set back: nothing is known of such a revision's age.
    const isOld = (writtenAt: number): boolean => writtenAt <= now - this.#history.ms || writtenAt > now;
    const candidates = log.oldest(perStep);
    const kept = candidates.findIndex(({ rv, writtenAt }) => rv > newestToForget || !isOld(writtenAt));
    const last = kept < 0 ? candidates.at(-1) : candidates[kept - 1];
    if (last === undefined) return "idle";
    log.compact(last.rv);
    return kept < 0 ? "more" : "idle";
  }
}
