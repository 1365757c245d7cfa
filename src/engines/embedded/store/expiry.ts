import type { Timer } from "#lib/clock.ts";
import { BackgroundLoop, type StepOutcome } from "./background-loop.ts";
import type { Entry } from "./object-table.ts";
import type { StoreState } from "./store-state.ts";

const everyMs = 60_000;
const perStep = 100;

/** Removes objects of kinds that do not last (events) when they have not been written for their time. */
export class Expiry {
  readonly #state: StoreState;
  readonly #loop: BackgroundLoop;
  #expired: Entry[] = [];
  #timer: Timer;

  constructor(state: StoreState, onError: (error: unknown) => void) {
    this.#state = state;
    this.#loop = new BackgroundLoop({ step: () => this.#step(), clock: state.clock, onError });
    this.#timer = this.#schedule();
  }

  stop(): void {
    this.#timer.cancel();
    this.#loop.stop();
  }

  #schedule(): Timer {
    return this.#state.clock.after(everyMs, () => {
      this.#expired = [...this.#state.tables()].flatMap((table) => {
        const { expiresAfterMs } = table.traits;
        if (expiresAfterMs === undefined || table.size === 0) return [];
        const horizon = this.#state.log.newestAt(this.#state.clock.now() - expiresAfterMs);
        return [...table.range("")].filter((entry) => entry.rv <= horizon);
      });
      this.#loop.wake();
      this.#timer = this.#schedule();
    });
  }

  #step(): StepOutcome {
    const batch = this.#expired.splice(0, perStep);
    const removals = batch
      .filter((entry) => entry.table.entry(entry.key) === entry)
      .map(({ table, key }) => ({ table, key, object: undefined }));
    if (removals.length > 0) this.#state.commit(...removals);
    return this.#expired.length > 0 ? "more" : "idle";
  }
}
