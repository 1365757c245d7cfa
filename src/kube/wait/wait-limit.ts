import { ChildAbort } from "#lib/abortable.ts";
import type { Clock, Timer } from "#lib/clock.ts";

export interface WaitOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

const deadline = new Error("the time for the wait is up");

/** The time that a wait has: until its deadline or until the caller gives up, whichever comes first. */
export class WaitLimit implements Disposable {
  readonly #abort: ChildAbort;
  readonly #timer: Timer | undefined;
  readonly #timeoutMs: number;

  constructor(clock: Clock, { timeoutMs, signal }: WaitOptions) {
    this.#abort = new ChildAbort(signal);
    this.#timeoutMs = timeoutMs;
    if (timeoutMs <= 0) this.#abort.abort(deadline);
    else this.#timer = clock.after(timeoutMs, () => this.#abort.abort(deadline));
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get isOver(): boolean {
    return this.#abort.signal.aborted;
  }

  /** Why it is over. */
  get because(): "deadline" | "cancelled" | "no-time" {
    if (this.signal.reason !== deadline) return "cancelled";
    return this.#timeoutMs <= 0 ? "no-time" : "deadline";
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
    this.#abort[Symbol.dispose]();
  }
}
