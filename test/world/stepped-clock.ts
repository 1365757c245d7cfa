import type { MonotonicClock, Timer } from "#lib/clock.ts";

interface Waiting {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** A clock that stands still until the test moves it. Timers fire in order of their time, as they would have in life. */
export class SteppedClock implements MonotonicClock {
  #now: number;
  #setByMs = 0;
  #order = 0;
  readonly #waiting = new Set<Waiting>();

  constructor(start: number = Date.UTC(2026, 0, 1)) {
    this.#now = start;
  }

  now(): number {
    return this.#now + this.#setByMs;
  }

  /** Sets the time of day. Timers and durations are not changed by it. */
  setBy(ms: number): void {
    this.#setByMs += ms;
  }

  monotonic(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): Timer {
    const waiting: Waiting = { at: this.#now + Math.max(0, ms), order: this.#order++, run };
    this.#waiting.add(waiting);
    return { cancel: () => this.#waiting.delete(waiting) };
  }

  /** How many timers are set: lets a test wait until its subject sleeps. */
  get pending(): number {
    return this.#waiting.size;
  }

  /** Moves time forward; after each timer pending promises get to run, so that what a timer woke can set the next one. */
  async step(ms: number): Promise<void> {
    const until = this.#now + ms;
    await settle();
    for (let due = this.#next(until); due !== undefined; due = this.#next(until)) {
      this.#waiting.delete(due);
      this.#now = Math.max(this.#now, due.at);
      due.run();
      await settle();
    }
    this.#now = until;
    await settle();
  }

  #next(until: number): Waiting | undefined {
    let first: Waiting | undefined;
    for (const waiting of this.#waiting) {
      if (waiting.at > until) continue;
      if (first === undefined || waiting.at < first.at || (waiting.at === first.at && waiting.order < first.order)) first = waiting;
    }
    return first;
  }
}

/** Lets everything that is ready to run, run: promises and immediate callbacks. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
