import { isApiError } from "#kube/api-error.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import { compareVersions } from "#kube/informer/versions.ts";
import type { ApiObject } from "#model/meta.ts";
import type { Checker, Verdict } from "./verdict.ts";
import { type WaitAction, WaitError, type WaitErrorDetail } from "./wait-error.ts";
import type { Hold, WaitRegistry } from "./wait-registry.ts";
import { ChildAbort } from "#lib/abortable.ts";
import type { Clock, Timer } from "#lib/clock.ts";

export interface Wish<T extends ApiObject> {
  readonly action: WaitAction;
  /** As the caller knows it. */
  readonly object: T;
  readonly check: Checker<T>;
}

/**
 * One caller's wait. To be used once: `wait`, or `release` if it does not come to that (`using task = …` does it in any case).
 *
 * No wake-up is lost: the object is held before it is looked at, and the count of signals is taken before each look.
 * A wake-up is only a reason to look again. If the state has gone again by then, the wait goes on for as long as it has time.
 */
export class WaitTask<T extends ApiObject> implements Disposable {
  readonly #registry: WaitRegistry<T>;
  readonly #wish: Wish<T>;
  #hold: Hold | undefined;
  #state: "new" | "waiting" | "over" = "new";

  constructor(registry: WaitRegistry<T>, wish: Wish<T>, hold: Hold | undefined) {
    this.#registry = registry;
    this.#wish = wish;
    this.#hold = hold;
  }

  /** Resolves with the object once it is as wished. Rejects with a WaitError, or with the ApiError of a read that failed. */
  async wait(options: WaitOptions): Promise<T> {
    if (this.#state !== "new") throw this.#error({ code: "used", action: this.#wish.action }, "the task was already used or released");
    this.#state = "waiting";
    try {
      if (this.#hold === undefined) {
        const { action, object, check } = this.#wish;
        const verdict = check(object, this.#registry.deps.clock.now());
        if (this.#isEnd(verdict)) return object;
        if (options.timeoutMs <= 0) throw this.#notSatisfied("no-time", verdict, { duringDoubleCheck: false });
        this.#hold = this.#registry.acquire(action, object, check);
      }
      return await this.#untilEnd(this.#hold, options);
    } finally {
      this.#state = "over";
      this.#hold?.release();
    }
  }

  /** Lets the object go. Does nothing while `wait` runs (it releases by itself), or on a lazy task, which holds nothing before. */
  release(): void {
    if (this.#state !== "new" || this.#hold === undefined) return;
    this.#state = "over";
    this.#hold.release();
  }

  [Symbol.dispose](): void {
    this.release();
  }

  async #untilEnd(hold: Hold, options: WaitOptions): Promise<T> {
    const { clock } = this.#registry.deps;
    using limit = new WaitLimit(clock, options);
    for (;;) {
      const seen = hold.signals;
      const object = await this.#read(limit);
      const verdict: Verdict =
        object === undefined ? { kind: "waiting", missing: "the object is not in the cache" } : this.#wish.check(object, clock.now());
      if (object !== undefined && this.#isEnd(verdict)) return object;
      if (limit.isOver) throw this.#notSatisfied(limit.because, verdict, { duringDoubleCheck: true, cause: limit.signal.reason });
      await this.#nextReason(hold, seen, limit);
    }
  }

  /** The object as it is now; undefined when there is no time left to ask the server for one that the cache does not have. */
  async #read(limit: WaitLimit): Promise<T | undefined> {
    const { reader } = this.#registry.deps;
    const key = keyOf(this.#wish.object);
    const cached = reader.cached(key);
    if (cached !== undefined) return this.#newest(this.#same(cached));
    if (limit.isOver) return undefined;
    try {
      return this.#same(await reader.live(key, limit.signal));
    } catch (error) {
      if (isApiError(error, "NotFound")) throw this.#gone(error);
      if (limit.isOver) return undefined;
      throw error;
    }
  }

  #same(object: T): T {
    if (object.metadata.uid !== this.#wish.object.metadata.uid) throw this.#gone(undefined);
    return object;
  }

  /** The caller may bring the answer to its own write, which the cache has not seen: no older state is judged. */
  #newest(cached: T): T {
    const { object } = this.#wish;
    return compareVersions(cached.metadata.resourceVersion ?? "", object.metadata.resourceVersion ?? "") < 0 ? object : cached;
  }

  /** Resolves at the next signal, at the end of the time, or when it is time to look again anyway. */
  #nextReason(hold: Hold, seen: number, limit: WaitLimit): Promise<void> {
    const { clock, recheckMs } = this.#registry.deps;
    return new Promise((resolve) => {
      if (hold.signals !== seen || limit.isOver) {
        resolve();
        return;
      }
      const wake = (): void => {
        timer.cancel();
        stopListening();
        limit.signal.removeEventListener("abort", wake);
        resolve();
      };
      const timer = clock.after(recheckMs, wake);
      const stopListening = hold.onSignal(wake);
      limit.signal.addEventListener("abort", wake);
    });
  }

  #isEnd(verdict: Verdict): boolean {
    if (verdict.kind === "failed")
      throw this.#error({ code: "failed", action: this.#wish.action, reason: verdict.reason }, verdict.message);
    return verdict.kind === "satisfied";
  }

  #notSatisfied(
    because: "deadline" | "cancelled" | "no-time",
    verdict: Verdict,
    { duringDoubleCheck, cause }: { readonly duringDoubleCheck: boolean; readonly cause?: unknown },
  ): WaitError {
    const { action } = this.#wish;
    const waitingFor = verdict.kind === "waiting" ? verdict.missing : verdict.kind;
    const ends = { deadline: "timed out", cancelled: "was given up", "no-time": "had no time" };
    return this.#error({ code: "not-satisfied", action, because, duringDoubleCheck, waitingFor }, `${ends[because]}: ${waitingFor}`, cause);
  }

  #gone(cause: unknown): WaitError {
    return this.#error({ code: "gone", action: this.#wish.action }, "it is gone", cause);
  }

  #error(detail: WaitErrorDetail, what: string, cause?: unknown): WaitError {
    const name = this.#registry.nameOf(this.#wish.object);
    return new WaitError(name, detail, { message: `${this.#wish.action} of ${name}: ${what}`, cause });
  }
}

interface WaitOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

const deadline = new Error("the time for the wait is up");

/** The time that a wait has: until its deadline or until the caller gives up, whichever comes first. */
class WaitLimit implements Disposable {
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
