import type { Clock } from "#lib/clock.ts";
import { ServiceError } from "#services/service-error.ts";

export interface CreateTimeOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** How much of that may go by without a pod; all of it when left out. */
  readonly waitMs?: number | undefined;
  /** Left out when the caller has its answer already. */
  readonly caller?: AbortSignal | undefined;
  readonly stopped: AbortSignal;
}

/**
 * How long a create may take, and the signals that can end it earlier. The reason of a signal is the error of the caller. Everything uses timers and no
 * time of day, which may be changed while a request waits.
 */
export class CreateTime implements Disposable {
  readonly #left = new AbortController();
  readonly #late = new AbortController();
  readonly #waited = new AbortController();
  readonly #over = new AbortController();
  readonly #undo: (() => void)[] = [];
  /** How long a pod may be waited for. */
  readonly waitMs: number;

  constructor({ clock, timeoutMs, waitMs = timeoutMs, caller, stopped }: CreateTimeOptions) {
    this.waitMs = Math.min(waitMs, timeoutMs);
    for (const { signal } of [this.#left, this.#late]) this.#on(signal, () => this.#over.abort(signal.reason));
    this.#on(stopped, () => this.#left.abort(serverStops()));
    if (caller !== undefined) this.#on(caller, () => this.#left.abort(callerLeft()));
    const late = (): void => this.#late.abort(new ServiceError("timeout", `the sandbox was not ready within ${timeoutMs / 1000} s`));
    const timer = clock.after(timeoutMs, late);
    this.#undo.push(() => timer.cancel());
    this.#on(this.late, () => this.#waited.abort());
    if (waitMs >= timeoutMs) return;
    const waiting = clock.after(waitMs, () => this.#waited.abort());
    this.#undo.push(() => waiting.cancel());
  }

  /** The caller went away, or this server ends. */
  get left(): AbortSignal {
    return this.#left.signal;
  }

  /** The time is over. */
  get late(): AbortSignal {
    return this.#late.signal;
  }

  /** Requests stop waiting for a pod. Those that have one continue. */
  get waited(): AbortSignal {
    return this.#waited.signal;
  }

  /** The caller went away, this server ends, or the time is over. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  [Symbol.dispose](): void {
    for (const undo of this.#undo) undo();
  }

  #on(signal: AbortSignal, run: () => void): void {
    if (signal.aborted) {
      run();
      return;
    }
    signal.addEventListener("abort", run, { once: true });
    this.#undo.push(() => signal.removeEventListener("abort", run));
  }
}

export function callerLeft(): ServiceError {
  return new ServiceError("canceled", "the client disconnected before the sandbox was ready");
}

/** Reported as a shortage: E2B's clients repeat only this refusal by themselves, and another process then answers. */
export function serverStops(): ServiceError {
  return new ServiceError("no_capacity", "this server ends before there is a sandbox; try again", { retryAfterSeconds: 1 });
}
