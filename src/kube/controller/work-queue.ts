/**
 * Keys in, runs out.
 *
 * Q1 A key that waits is in the queue once, however often it is added.
 * Q2 A key never runs twice at once; added while it runs, it runs exactly once more afterwards.
 * Q3 Keys run in the order in which they began to wait, at most `concurrency` at a time. With `places` both hold for each lane of keys
 *    that share them, and lanes take turns. Keys that a request waits for go first, those that are only looked at again go last (lanes.ts).
 * Q4 Only failures make a key wait longer and longer; a key that is added meanwhile runs at once.
 * Q5 An error that a run throws reaches `onFailure` and nothing else.
 * Q6 After `stop` no run starts.
 */
import { isApiError } from "#kube/api-error.ts";
import { type Backoff, backoffMs, type Random, spread } from "#lib/backoff.ts";
import { checkedSignal } from "#lib/checked-signal.ts";
import type { Clock, Timer } from "#lib/clock.ts";
import type { Metrics } from "#lib/metrics.ts";
import { Lanes, type NextKey, type Place, type Rank } from "#lib/lanes.ts";
import { type QueueMetrics, queueMetrics } from "./work-queue-metrics.ts";

/**
 * Asks to run the key again after about this time, even if nothing changes; `undefined` waits for the next change. `exact` is for
 * deadlines: the run then comes at this time, without jitter. `routine` is for looks in case something was missed: other keys go before it.
 */
export type Requeue = { readonly afterMs: number; readonly exact?: boolean; readonly routine?: boolean } | undefined;

/** Trying again cannot help until the object changes: reported once, not retried. */
export class TerminalError extends Error {
  override readonly name = "TerminalError";
}

export interface Failure {
  readonly key: string;
  readonly error: unknown;
  /** How often in a row it has failed now. */
  readonly failures: number;
  /** When it is tried again; left out for terminal errors. */
  readonly retryInMs?: number;
}

export interface WorkQueueOptions {
  readonly name: string;
  readonly run: (key: string, signal: AbortSignal) => Promise<Requeue>;
  readonly onFailure: (failure: Failure) => void;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly random?: Random | undefined;
  readonly concurrency?: number | undefined;
  /** In place of `concurrency`: what a key needs of what there is only so much of. Asked when it begins to wait, and when it is added again. */
  readonly places?: ((key: string) => readonly Place[]) | undefined;
  readonly backoff?: Backoff | undefined;
  /** Runs end with it, and it is read before each of them: a leader's signal may learn by being read that its time is over. */
  readonly signal?: AbortSignal | undefined;
}

const defaultBackoff: Backoff = { baseMs: 10, maxMs: 60_000, jitter: "equal" };
/** Many objects that were looked at together should not all come back together. */
const requeueSpread = 0.2;
/** Runs that never wait for anything would keep timers and sockets from their turn; after so many of them those have it. */
const maxStartsInTurn = 100;
/** Timers cannot hold much more than three weeks; a key that wakes early checks the time and waits again. */
const longestDelayMs = 24 * 60 * 60_000;

interface Run {
  readonly startedAt: number;
  readonly places: readonly Place[];
  addedAgain: Added | undefined;
}

interface Added {
  readonly at: number;
  readonly rank: Rank;
}

type Outcome = { readonly kind: "done"; readonly requeue: Requeue } | { readonly kind: "failed"; readonly error: unknown };

export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #random: Random;
  readonly #metrics: QueueMetrics;
  readonly #abort = new AbortController();
  readonly #runSignal: AbortSignal;
  readonly #waiting: Lanes;
  readonly #running = new Map<string, Run>();
  readonly #delayed = new Map<string, { readonly at: number; readonly timer: Timer }>();
  readonly #failures = new Map<string, number>();
  #state: "filling" | "working" | "stopped" = "filling";
  #pumping = false;
  #startsInTurn = 0;
  #onIdle: (() => void) | undefined;
  #stopped: Promise<readonly string[]> | undefined;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    const onlyPlace = [{ name: "", most: options.concurrency ?? 4 }];
    this.#waiting = new Lanes(options.places ?? (() => onlyPlace));
    this.#random = options.random ?? Math.random;
    this.#runSignal = checkedSignal(this.#abort, () => this.#followOwner());
    this.#metrics = queueMetrics(options.metrics, options.name, {
      depth: () => this.#waiting.size,
      longestRunningMs: () => this.#ages().reduce((oldest, age) => Math.max(oldest, age), 0),
      unfinishedMs: () => this.#ages().reduce((sum, age) => sum + age, 0),
    });
    options.signal?.addEventListener("abort", () => this.#followOwner(), { once: true });
  }

  /** Keys may be added before; they run from now on. */
  start(): void {
    if (this.#state === "filling") this.#state = "working";
    this.#schedulePump();
  }

  add(key: string, rank: Rank = "usual"): void {
    if (this.#state === "stopped") return;
    const at = this.#options.clock.now();
    const run = this.#running.get(key);
    if (run === undefined) this.#wait(key, { at, rank });
    else if (run.addedAgain === undefined || rank === "first" || run.addedAgain.rank === "routine")
      run.addedAgain = { at: run.addedAgain?.at ?? at, rank };
  }

  /** Adds the key after a while. Of several such wishes for one key the earliest wins. */
  addAfter(key: string, ms: number, rank: Rank = "usual"): void {
    if (this.#state === "stopped") return;
    if (!(ms > 0)) {
      this.add(key, rank);
      return;
    }
    const delay = Math.min(ms, longestDelayMs);
    const at = this.#options.clock.now() + delay;
    const earlier = this.#delayed.get(key);
    if (earlier !== undefined && earlier.at <= at) return;
    earlier?.timer.cancel();
    const timer = this.#options.clock.after(delay, () => {
      this.#delayed.delete(key);
      this.add(key, rank);
    });
    this.#delayed.set(key, { at, timer });
  }

  /** Starts no more runs, tells those that run, and waits for them. Resolves to the keys that had not ended by then. */
  stop(withinMs: number): Promise<readonly string[]> {
    this.#stopped ??= this.#stop(withinMs);
    return this.#stopped;
  }

  async #stop(withinMs: number): Promise<readonly string[]> {
    this.#endWaiting();
    this.#abort.abort(new Error(`the work queue ${this.#options.name} was stopped`));
    if (this.#running.size > 0) {
      await new Promise<void>((resolve) => {
        const timer = this.#options.clock.after(withinMs, resolve);
        this.#onIdle = () => {
          timer.cancel();
          resolve();
        };
      });
    }
    this.#metrics.stop();
    return [...this.#running.keys()];
  }

  #endWaiting(): void {
    this.#state = "stopped";
    this.#waiting.clear();
    for (const { timer } of this.#delayed.values()) timer.cancel();
    this.#delayed.clear();
  }

  #followOwner(): void {
    const { signal } = this.#options;
    if (this.#state === "stopped" || signal?.aborted !== true) return;
    this.#endWaiting();
    this.#abort.abort(signal.reason);
  }

  #wait(key: string, { at, rank }: Added): void {
    if (this.#waiting.add(key, at, rank)) this.#metrics.added();
    this.#schedulePump();
  }

  /** Runs do not start inside `add`: the caller's other adds of the same moment join, and its stack is not ours to fail on. */
  #schedulePump(): void {
    if (this.#pumping || this.#state !== "working") return;
    this.#pumping = true;
    const pump = (): void => {
      this.#pumping = false;
      this.#pump();
    };
    if (this.#startsInTurn < maxStartsInTurn) queueMicrotask(pump);
    else setImmediate(pump);
  }

  #pump(): void {
    while (!this.#runSignal.aborted) {
      const next = this.#waiting.next();
      if (next === undefined) return;
      if (this.#startsInTurn++ === 0) setImmediate(() => (this.#startsInTurn = 0));
      void this.#run(next);
    }
  }

  async #run({ key, since, places }: NextKey): Promise<void> {
    const run: Run = { startedAt: this.#options.clock.now(), places, addedAgain: undefined };
    this.#running.set(key, run);
    this.#metrics.started(Math.max(0, run.startedAt - since));
    const outcome = await this.#attempt(key);
    this.#running.delete(key);
    this.#waiting.giveBack(run.places);
    this.#metrics.finished(this.#ageOf(run));
    if (this.#state === "working") this.#conclude(key, outcome, run.addedAgain);
    if (this.#running.size === 0) this.#onIdle?.();
    this.#schedulePump();
  }

  async #attempt(key: string): Promise<Outcome> {
    try {
      return { kind: "done", requeue: await this.#options.run(key, this.#runSignal) };
    } catch (error) {
      return { kind: "failed", error };
    }
  }

  /** What a run asks for counts only if the key is not wanted again already: that run sees more and decides anew (Q2). */
  #conclude(key: string, outcome: Outcome, addedAgain: Added | undefined): void {
    if (outcome.kind === "done") {
      this.#failures.delete(key);
      if (addedAgain === undefined && outcome.requeue !== undefined) {
        const { afterMs, exact = false, routine = false } = outcome.requeue;
        this.#runLater(key, exact ? afterMs : spread(afterMs, requeueSpread, this.#random), routine ? "routine" : "usual");
      }
    } else {
      const retryInMs = this.#failed(key, outcome.error);
      if (addedAgain === undefined && retryInMs !== undefined) this.#runLater(key, retryInMs, "usual");
    }
    if (addedAgain !== undefined) this.#wait(key, addedAgain);
  }

  /** Never within the same moment: a key that always asks for "at once" would leave no time for anything else. */
  #runLater(key: string, ms: number, rank: Rank): void {
    this.addAfter(key, Math.max(1, ms), rank);
  }

  #failed(key: string, error: unknown): number | undefined {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    if (error instanceof TerminalError) {
      this.#failures.delete(key);
      this.#tell({ key, error, failures });
      return undefined;
    }
    this.#failures.set(key, failures);
    const asked = isApiError(error) ? (error.retryAfterMs ?? 0) : 0;
    const retryInMs = Math.max(asked, backoffMs(this.#options.backoff ?? defaultBackoff, failures, this.#random));
    this.#metrics.retried();
    this.#tell({ key, error, failures, retryInMs });
    return retryInMs;
  }

  #tell(failure: Failure): void {
    try {
      this.#options.onFailure(failure);
    } catch {
      // The reporter itself failed, so there is nothing left to report to; the loop goes on (Q5).
    }
  }

  #ages(): number[] {
    return [...this.#running.values()].map((run) => this.#ageOf(run));
  }

  #ageOf(run: Run): number {
    return Math.max(0, this.#options.clock.now() - run.startedAt);
  }
}
