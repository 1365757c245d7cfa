/** How many pods mode Demand makes for thirty requests at once, on a model of a machine that starts eight pods at a time. */
import { expect, test } from "vitest";
import { ArrivalForecaster } from "./arrivals.ts";
import { RefillTime } from "./refill-time.ts";

const stepMs = 50;
const decideEveryMs = 500;
const stockWaitsMs = 5_000;
const pauseMs = 3_000;
const count = 30;
const stock = 3;

interface ModelPod {
  readonly madeAtMs: number;
  done: number;
  state: "starting" | "idle" | "busy" | "recycling";
  arrivedAtMs: number;
  idleAtMs: number;
}

/** A machine that starts so many pods a second together, and one alone in `aloneMs`. Two rounds of requests, each ended when all have a pod. */
class Machine {
  readonly #forecaster = new ArrivalForecaster(0);
  readonly #refill = new RefillTime(2_000);
  readonly #perSecond: number;
  readonly #aloneMs: number;
  readonly #pods: ModelPod[] = [];
  #nowMs = 0;
  #waiting = 0;
  #waitingSinceMs = 0;
  #wanted = 0;
  most = 0;

  constructor(perSecond: number, aloneMs: number) {
    [this.#perSecond, this.#aloneMs] = [perSecond, aloneMs];
    for (let pod = 0; pod < stock; pod++) this.#make();
    this.run(10_000);
  }

  run(ms: number): void {
    for (const untilMs = this.#nowMs + ms; this.#nowMs < untilMs;) this.#step();
  }

  /** Until all requests have a pod; then all of them end at once. */
  round(): void {
    [this.#waiting, this.#waitingSinceMs] = [count, this.#nowMs];
    while (this.#waiting > 0) this.#step();
    for (const pod of this.#of("busy")) [pod.state, pod.idleAtMs] = ["recycling", this.#nowMs + this.#aloneMs];
  }

  #of(state: ModelPod["state"]): ModelPod[] {
    return this.#pods.filter((pod) => pod.state === state);
  }

  #make(): void {
    this.#pods.push({ madeAtMs: this.#nowMs, done: 0, state: "starting", arrivedAtMs: 0, idleAtMs: 0 });
  }

  #step(): void {
    this.#nowMs += stepMs;
    const starting = this.#of("starting").slice(0, 8);
    for (const pod of starting) {
      pod.done += Math.min(stepMs / this.#aloneMs, (this.#perSecond * stepMs) / 1_000 / starting.length);
      if (pod.done < 1) continue;
      pod.state = "idle";
      this.#refill.took(this.#nowMs - pod.madeAtMs, pod.madeAtMs);
    }
    for (const pod of this.#of("recycling").filter(({ idleAtMs }) => idleAtMs <= this.#nowMs)) {
      pod.state = "idle";
      this.#forecaster.returned(pod.arrivedAtMs);
    }
    for (const pod of this.#of("idle").slice(0, this.#waiting)) {
      [pod.state, pod.arrivedAtMs] = ["busy", this.#forecaster.arrived(this.#nowMs)];
      this.#waiting -= 1;
    }
    this.#grow();
  }

  /** A pod for each request that waits, and the spare behind these; nothing is taken away. */
  #grow(): void {
    const inUse = this.#of("busy").length + this.#waiting;
    if (this.#nowMs % decideEveryMs === 0) this.#wanted = inUse + this.#spare();
    const isHeld = this.#waiting > 0 && this.#nowMs - this.#waitingSinceMs < stockWaitsMs;
    for (let pods = this.#pods.length; pods < (isHeld ? inUse : Math.max(inUse, this.#wanted)); pods++) this.#make();
    this.most = Math.max(this.most, this.#pods.length);
  }

  #spare(): number {
    const wish = { nowMs: this.#nowMs, refillMs: this.#refill.ms + decideEveryMs, coveragePercent: 99, emptyAfterMs: 600_000 };
    return this.#forecaster.forecast(wish).spare;
  }
}

test.each([
  [20, 200],
  [7, 200],
  [3, 1_300],
  [1, 1_300],
])(
  "a machine that starts %d pods a second makes at most two for each of the requests that come at once, in the second round too",
  (perSecond, aloneMs) => {
    const machine = new Machine(perSecond, aloneMs);
    machine.round();
    machine.run(pauseMs);
    machine.round();
    machine.run(60_000);
    expect(machine.most).toBeGreaterThan(count);
    expect(machine.most).toBeLessThanOrEqual(stock + 2 * count);
  },
);
