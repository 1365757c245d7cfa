/**
 * One process of the control plane: it has a time of day of its own, can be held and go on, and can be killed at any moment. A dead
 * one is never called back: its timers do not fire, its calls are not answered, and what it knew is gone with it. What it had sent
 * before is on its way all the same.
 */
import type { MonotonicClock, Timer } from "#lib/clock.ts";
import { SimulatedProcess } from "../world/simulated-process.ts";
import type { SteppedClock } from "../world/stepped-clock.ts";

export class Process {
  readonly name: string;
  readonly clock: MonotonicClock;
  readonly #inner: SimulatedProcess;
  readonly #world: SteppedClock;
  readonly #timers = new Set<Timer>();
  readonly #whenKilled = new Set<() => void>();
  #dead = false;

  constructor(name: string, world: SteppedClock, skewMs: number) {
    this.name = name;
    this.#world = world;
    this.#inner = new SimulatedProcess(world, skewMs);
    this.clock = {
      now: () => this.#inner.now(),
      monotonic: () => this.#inner.monotonic(),
      after: (ms, run) => this.#after(ms, run),
    };
  }

  get isDead(): boolean {
    return this.#dead;
  }

  get isHeld(): boolean {
    return !this.#inner.awake;
  }

  /** Something from outside reaches the process: now, when it goes on, or never. */
  deliver(run: () => void): void {
    if (this.#dead) return;
    this.#inner.deliver(() => {
      if (!this.#dead) run();
    });
  }

  /** What the world takes back from a dead process, such as its connections. */
  whenKilled(run: () => void): () => void {
    this.#whenKilled.add(run);
    return () => this.#whenKilled.delete(run);
  }

  kill(): void {
    this.#dead = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    for (const run of this.#whenKilled) run();
    this.#whenKilled.clear();
  }

  hold(): void {
    this.#inner.pause("stopped");
  }

  async goOn(): Promise<void> {
    await this.#inner.resume(() => {});
  }

  setTimeOfDay(byMs: number): void {
    this.#inner.setTimeOfDay(byMs);
  }

  /** Its clock is corrected. */
  correctClock(): void {
    this.#inner.setTimeOfDay(this.#world.now() - this.#inner.now());
  }

  #after(ms: number, run: () => void): Timer {
    if (this.#dead) return { cancel: () => {} };
    const timer = this.#inner.after(ms, () => {
      this.#timers.delete(timer);
      if (!this.#dead) run();
    });
    this.#timers.add(timer);
    return {
      cancel: () => {
        timer.cancel();
        this.#timers.delete(timer);
      },
    };
  }
}
