import type { Clock, Timer } from "#lib/clock.ts";

/** What one step of background work found. */
export type StepOutcome = "more" | "idle";

export interface BackgroundWork {
  /** Does a little work, of at most a few milliseconds. */
  readonly step: () => StepOutcome;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

const retryAfterMs = 1000;

/**
 * Runs steps one after the other, each in its own turn of the event loop, so that requests pass in between; sleeps when
 * there is nothing to do, until it is woken. A step that throws is tried again a little later.
 */
export class BackgroundLoop {
  readonly #work: BackgroundWork;
  #scheduled: NodeJS.Immediate | undefined;
  #retry: Timer | undefined;
  #stopped = false;

  constructor(work: BackgroundWork) {
    this.#work = work;
  }

  /** There may be something to do. */
  wake(): void {
    if (this.#stopped || this.#scheduled !== undefined || this.#retry !== undefined) return;
    this.#scheduled = setImmediate(() => this.#run());
  }

  stop(): void {
    this.#stopped = true;
    clearImmediate(this.#scheduled);
    this.#retry?.cancel();
  }

  #run(): void {
    this.#scheduled = undefined;
    try {
      if (this.#work.step() === "more") this.wake();
    } catch (error) {
      this.#work.onError(error);
      this.#retry = this.#work.clock.after(retryAfterMs, () => {
        this.#retry = undefined;
        this.wake();
      });
    }
  }
}
