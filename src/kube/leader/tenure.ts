/**
 * How long we may lead: from the start of the last renewal that succeeded, by our own clocks. The start, because the server
 * wrote it then or later; other processes count from later still.
 *
 * The signal ends when that time is over, and also when it is read after that time: a process that slept through its lease
 * may run other callbacks before its timers, and none of them must find itself still leading.
 */
import { checkedSignal } from "#lib/checked-signal.ts";
import type { MonotonicClock, Timer } from "#lib/clock.ts";

/** A moment on both of our clocks. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

export function momentOf(clock: MonotonicClock): Moment {
  return { monotonic: clock.monotonic(), wall: clock.now() };
}

export class LeadershipLostError extends Error {
  override readonly name = "LeadershipLostError";
}

export class Tenure {
  readonly signal: AbortSignal;
  readonly #clock: MonotonicClock;
  readonly #deadlineMs: number;
  readonly #abort = new AbortController();
  #renewed: Moment;
  #timer: Timer | undefined;
  #lost = false;

  constructor(clock: MonotonicClock, deadlineMs: number, started: Moment) {
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
    this.#renewed = started;
    this.signal = checkedSignal(this.#abort, () => void this.lost);
    this.#setTimer();
  }

  /** True when we hold the lease no more, or cannot know. Never becomes false again. */
  get lost(): boolean {
    if (!this.#lost && this.#remainingMs() <= 0) this.lose(`no renewal for ${this.#deadlineMs} ms`);
    return this.#lost;
  }

  renew(started: Moment): void {
    if (this.lost) return;
    this.#renewed = started;
    this.#setTimer();
  }

  lose(why: string): void {
    if (this.#lost) return;
    this.#lost = true;
    this.#timer?.cancel();
    this.#abort.abort(new LeadershipLostError(`leadership lost: ${why}`));
  }

  /** Asks the led work to end while the lease is still held. */
  resign(reason: Error): void {
    this.#abort.abort(reason);
  }

  /** The work has ended; nothing is left to be told. */
  close(): void {
    this.#timer?.cancel();
  }

  #setTimer(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.after(Math.max(0, this.#remainingMs()), () => {
      if (!this.lost) this.#setTimer();
    });
  }

  /**
   * By the clock that has moved more: the time of day may be set back, and the monotonic clock of a virtual machine stands
   * still while it is frozen. Being wrong by believing the faster one only ends a leadership early.
   */
  #remainingMs(): number {
    const { monotonic, wall } = momentOf(this.#clock);
    return this.#deadlineMs - Math.max(monotonic - this.#renewed.monotonic, wall - this.#renewed.wall);
  }
}
