import type { Timer } from "#lib/clock.ts";
import type { ProbeTarget } from "../plan/action.ts";
import { ask } from "./ask.ts";
import type { ProbeListener, ProberDeps } from "./prober.ts";
import { newTally, type Tally, withAnswer } from "./tally.ts";

/**
 * A container that has just started usually answers within milliseconds, and a create that waits for it must not wait for a whole
 * period. So a cheap probe is repeated soon until its first success: first after this time, then each time after a little longer.
 * Of these early answers only a success counts.
 */
const soonMs = 10;
const soonGrowth = 1.4;

/** One probe of one container. Its time is that of the container: the first answer is asked for when the initial delay is over. */
export class ProbeWorker {
  readonly #deps: ProberDeps;
  readonly #target: ProbeTarget;
  readonly #listener: ProbeListener;
  readonly #stop = new AbortController();
  readonly #periodMs: number;
  #tally: Tally;
  #timer: Timer;
  /** When the next answer that counts is due. */
  #dueAt: number;
  #soonMs = soonMs;

  constructor(deps: ProberDeps, target: ProbeTarget, listener: ProbeListener) {
    this.#deps = deps;
    this.#target = target;
    this.#listener = listener;
    this.#tally = newTally(target.initial);
    const { initialDelaySeconds = 0, periodSeconds } = target.probe;
    this.#periodMs = periodSeconds * 1000;
    const now = deps.clock.now();
    const delay = target.startedAt + initialDelaySeconds * 1000 - now;
    // After a restart of the agent all containers are probed anew; not all in the same moment.
    const spread = target.initial === undefined ? 0 : deps.random() * this.#periodMs;
    this.#dueAt = now + Math.max(0, delay, spread);
    this.#timer = deps.clock.after(this.#dueAt - now, () => void this.#run());
  }

  stop(): void {
    this.#timer.cancel();
    this.#stop.abort(new Error("the probe is no longer wanted"));
  }

  async #run(): Promise<void> {
    const { clock } = this.#deps;
    const { probe } = this.#target;
    const now = clock.now();
    const counts = now >= this.#dueAt;
    if (counts) this.#dueAt = Math.max(now, this.#dueAt + this.#periodMs);
    const answer = await ask(this.#deps, this.#target, probe, { timeoutMs: probe.timeoutSeconds * 1000, signal: this.#stop.signal });
    if (this.#stop.signal.aborted) return;
    if (answer.ok) this.#count("success");
    // The first answer may be too early as well: it is forgiven if there is time for another one.
    else if (counts && !this.#isYoung()) {
      this.#listener.onFailure(this.#target, answer.output);
      this.#count("failure");
    }
    if (!this.#isDecided()) this.#schedule();
  }

  #count(answer: "success" | "failure"): void {
    const before = this.#tally.verdict;
    this.#tally = withAnswer(this.#tally, answer, this.#target.probe);
    const { verdict } = this.#tally;
    if (verdict !== undefined && verdict !== before) this.#listener.onVerdict(this.#target, verdict);
  }

  /** A startup probe has said all it has to say with its first verdict, a liveness probe with its first failure. */
  #isDecided(): boolean {
    const { kind } = this.#target;
    const { verdict } = this.#tally;
    return (kind === "startup" && verdict !== undefined) || (kind === "liveness" && verdict === "failure");
  }

  #schedule(): void {
    const now = this.#deps.clock.now();
    const untilDue = Math.max(0, this.#dueAt - now);
    const isSoon = this.#isYoung() && this.#tally.last !== "success" && this.#soonMs < untilDue;
    const delay = isSoon ? this.#soonMs : untilDue;
    if (isSoon) this.#soonMs *= soonGrowth;
    this.#timer = this.#deps.clock.after(delay, () => void this.#run());
  }

  /** True in the first period of a container's life as far as probes are concerned; commands are too dear to be asked more often. */
  #isYoung(): boolean {
    const { probe, startedAt, initial } = this.#target;
    const begins = startedAt + (probe.initialDelaySeconds ?? 0) * 1000;
    return probe.exec === undefined && initial === undefined && this.#deps.clock.now() < begins + this.#periodMs;
  }
}
