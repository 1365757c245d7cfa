import type { MonotonicClock, Timer } from "#lib/clock.ts";
import { settle, type SteppedClock } from "./stepped-clock.ts";

/**
 * How a process can miss time.
 * - `stopped`: its machine goes on (SIGSTOP, a long garbage collection): clocks and timers run, nothing is executed.
 * - `suspended`: the machine sleeps: clocks go on, its timers stand still.
 * - `frozen`: a virtual machine is held: its monotonic clock and timers stand still, the time of day is put right at the end.
 */
export type Pause = "stopped" | "suspended" | "frozen";

/** One process of several in a simulated world: with its own time of day, and able to sleep while the others go on. */
export class SimulatedProcess implements MonotonicClock {
  readonly #world: SteppedClock;
  #skewMs: number;
  #monotonicLostMs = 0;
  #timersLostMs = 0;
  #pause: { readonly kind: Pause; readonly since: number } | undefined;
  #backlog: { readonly isTimer: boolean; readonly run: () => void }[] = [];

  constructor(world: SteppedClock, skewMs: number) {
    this.#world = world;
    this.#skewMs = skewMs;
  }

  now(): number {
    return this.#world.now() + this.#skewMs;
  }

  monotonic(): number {
    return this.#world.now() - this.#monotonicLostMs;
  }

  after(ms: number, run: () => void): Timer {
    let cancelled = false;
    let timer: Timer;
    const due = this.#timerTime() + Math.max(0, ms);
    const arm = (): void => {
      timer = this.#world.after(due - this.#timerTime(), fire);
    };
    const fire = (): void => {
      this.#enter(true, () => {
        if (cancelled) return;
        if (this.#timerTime() < due) arm();
        else run();
      });
    };
    arm();
    return {
      cancel: () => {
        cancelled = true;
        timer.cancel();
      },
    };
  }

  /** Something from outside reaches the process; if it sleeps, when it wakes. */
  deliver(run: () => void): void {
    this.#enter(false, run);
  }

  get awake(): boolean {
    return this.#pause === undefined;
  }

  setTimeOfDay(byMs: number): void {
    this.#skewMs += byMs;
  }

  pause(kind: Pause): void {
    this.#pause ??= { kind, since: this.#world.now() };
  }

  /** Wakes up. What came from outside meanwhile is executed before the timers, as an event loop may do. */
  async resume(onWake: () => void): Promise<void> {
    if (this.#pause === undefined) return;
    const slept = this.#world.now() - this.#pause.since;
    if (this.#pause.kind !== "stopped") this.#timersLostMs += slept;
    if (this.#pause.kind === "frozen") this.#monotonicLostMs += slept;
    this.#pause = undefined;
    onWake();
    const missed = this.#backlog.toSorted((a, b) => Number(a.isTimer) - Number(b.isTimer));
    this.#backlog = [];
    for (const { run } of missed) {
      run();
      await settle();
    }
  }

  #enter(isTimer: boolean, run: () => void): void {
    if (this.#pause === undefined) run();
    else this.#backlog.push({ isTimer, run });
  }

  #timerTime(): number {
    return this.#world.now() - this.#timersLostMs;
  }
}
