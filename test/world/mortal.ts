import type { MonotonicClock } from "#lib/clock.ts";

/** Objects in the hands of a process that may be killed: from then on its calls are never answered and nothing calls it back. */
export class Life {
  #over = false;
  #callsLeft = Infinity;

  end(): void {
    this.#over = true;
  }

  /** It dies in its n-th call from now on: the call has its effect, but its answer is lost. */
  endAfterCalls(calls: number): void {
    this.#callsLeft = calls;
  }

  get isOver(): boolean {
    return this.#over;
  }

  /** The same object, as the process holds it. Calls that are under way when it dies still have their effect. */
  hold<T extends object>(target: T): T {
    return new Proxy(target, {
      get: (object, property) => {
        const value: unknown = Reflect.get(object, property, object);
        if (typeof value !== "function") return value;
        return (...args: readonly unknown[]): unknown => {
          if (this.#over) return never();
          this.#callsLeft -= 1;
          if (this.#callsLeft <= 0) this.#over = true;
          const result: unknown = Reflect.apply(
            value,
            object,
            args.map((arg) => this.#guarded(arg)),
          );
          return result instanceof Promise ? this.#answer(result) : result;
        };
      },
    });
  }

  /** Time goes on for the dead, but nothing of theirs happens in it. */
  clock(clock: MonotonicClock): MonotonicClock {
    return {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      after: (ms, run) => clock.after(ms, () => (this.#over ? undefined : run())),
    };
  }

  #guarded(arg: unknown): unknown {
    if (typeof arg !== "function") return arg;
    return (...args: readonly unknown[]): unknown => (this.#over ? undefined : Reflect.apply(arg, undefined, args));
  }

  #answer(promise: Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      promise.then(
        (value) => (this.#over ? undefined : resolve(value)),
        (error: unknown) => (this.#over ? undefined : reject(error as Error)),
      );
    });
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}
