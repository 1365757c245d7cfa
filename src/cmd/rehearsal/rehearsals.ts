/**
 * A server rehearses creates before it serves any, and again after V8 has forgotten the code for them. Whoever idles is collected now and then, and a whole
 * collection takes away compiled code of which nothing under way holds a trace: of a server that nobody asks, that of creates. A burst would then be
 * what compiles it again (ADR 55).
 *
 * - `rehearse-creates.ts`  some creates for nobody     - `stage.ts`           what they pass through
 * - `idle-pods.ts`         pods without containers     - `loopback-server.ts` what answers for them
 * - `whole-collections.ts` when code is forgotten      - `server-rehearsals.ts` all of it, for one server
 */
import type { MonotonicClock, Timer } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Counter, Metrics } from "#lib/metrics.ts";

export interface RehearsalsDeps {
  readonly clock: MonotonicClock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Resolves with how many there were; ends early when it may not go on. */
  readonly rehearse: (creates: number, goesOn: () => boolean) => Promise<number>;
  /** Tells of every whole collection. Returns what ends it. */
  readonly onCollected: (handler: () => void) => () => void;
  /** How many sandboxes have been asked for, by whoever wants one. */
  readonly asked: () => number;
}

/** Until a create costs what it will go on to cost. */
export const firstCreates = 400;
/** A server that is slow to rehearse is slow to everybody who waits for it to serve. */
export const firstMs = 3_000;
/** What is known is known again sooner. */
export const laterCreates = 120;
/** Real creates do as well, and rehearsals would hold them up. */
export const quietMs = 2_000;
/** How much longer than the last rehearsal took there is none: a server is there for others. */
export const restTimes = 20;

export class Rehearsals implements AsyncDisposable {
  readonly #deps: RehearsalsDeps;
  readonly #unfollow: () => void;
  readonly #rehearsed: Counter<never>;
  #timer: Timer | undefined;
  #underWay: Promise<void> | undefined;
  #isForgotten = false;
  #nextAt = -Infinity;
  #isStopped = false;

  constructor(deps: RehearsalsDeps) {
    this.#deps = deps;
    this.#rehearsed = deps.metrics.counter({
      name: "agentbox_rehearsed_creates_total",
      help: "Creates that the server made for nobody, so that those for somebody find their code compiled.",
      labels: [],
    });
    this.#unfollow = deps.onCollected(() => this.#forgotten());
  }

  /** Before anybody is served. Never fails: whoever could not rehearse is slower at first, and that is all. */
  first(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const until = clock.monotonic() + firstMs;
    return this.#play(firstCreates, () => clock.monotonic() < until && !signal.aborted);
  }

  /** Resolves when nothing goes on any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    this.#unfollow();
    this.#timer?.cancel();
    await this.#underWay;
  }

  #forgotten(): void {
    // What is being played is in use, and in use nothing is forgotten.
    if (this.#isStopped || this.#underWay !== undefined) return;
    this.#isForgotten = true;
    this.#wait();
  }

  /** Until nobody has asked for anything during a whole pause. */
  #wait(): void {
    const { clock, asked } = this.#deps;
    if (this.#timer !== undefined) return;
    const before = asked();
    const pause = Math.max(quietMs, this.#nextAt - clock.monotonic());
    this.#timer = clock.after(pause, () => {
      this.#timer = undefined;
      if (asked() !== before) this.#wait();
      else void this.#play(laterCreates, () => asked() === before);
    });
  }

  async #play(creates: number, goesOn: () => boolean): Promise<void> {
    this.#underWay = this.#played(creates, goesOn);
    await this.#underWay;
    this.#underWay = undefined;
    if (this.#isForgotten && !this.#isStopped) this.#wait();
  }

  async #played(creates: number, goesOn: () => boolean): Promise<void> {
    const { clock, log, rehearse } = this.#deps;
    const began = clock.monotonic();
    this.#isForgotten = false;
    try {
      const made = await rehearse(creates, () => !this.#isStopped && goesOn());
      // Whoever was interrupted has not learned all of it.
      this.#isForgotten = made < creates;
      this.#rehearsed.add({}, made);
    } catch (error) {
      log.warn({ error }, "creates could not be rehearsed; the next ones will take a little longer");
    }
    const now = clock.monotonic();
    this.#nextAt = now + restTimes * (now - began);
  }
}
