import { Registry } from "prom-client";
import { type Failure, type Requeue, WorkQueue, type WorkQueueOptions } from "#kube/controller/work-queue.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { settle, SteppedClock } from "./stepped-clock.ts";

/** A queue with runs that end when the test says so. */
export class QueueBench {
  readonly clock = new SteppedClock();
  readonly registry = new Registry();
  readonly started: string[] = [];
  /** Keys that ran twice at once: always empty, or the queue is broken. */
  readonly overlaps: string[] = [];
  readonly failures: Failure[] = [];
  readonly signals = new Map<string, AbortSignal>();
  readonly #ends = new Map<string, PromiseWithResolvers<Requeue>>();
  readonly queue: WorkQueue;

  constructor(options: Partial<WorkQueueOptions> = {}) {
    this.queue = new WorkQueue({
      name: "bench",
      clock: this.clock,
      metrics: prometheusMetrics(this.registry),
      random: () => 0.5,
      run: (key, signal) => this.#run(key, signal),
      onFailure: (failure) => this.failures.push(failure),
      ...options,
    });
    this.queue.start();
  }

  #run(key: string, signal: AbortSignal): Promise<Requeue> {
    if (this.#ends.has(key)) this.overlaps.push(key);
    const end = Promise.withResolvers<Requeue>();
    this.#ends.set(key, end);
    this.started.push(key);
    this.signals.set(key, signal);
    return end.promise;
  }

  get running(): string[] {
    return [...this.#ends.keys()];
  }

  async add(...keys: readonly string[]): Promise<void> {
    for (const key of keys) this.queue.add(key);
    await settle();
  }

  async succeed(key: string, requeue?: Requeue): Promise<void> {
    this.#take(key).resolve(requeue);
    await settle();
  }

  async fail(key: string, error: unknown = new Error("no luck")): Promise<void> {
    this.#take(key).reject(error);
    await settle();
  }

  #take(key: string): PromiseWithResolvers<Requeue> {
    const end = this.#ends.get(key);
    if (end === undefined) throw new Error(`${key} does not run`);
    this.#ends.delete(key);
    return end;
  }

  /** What the queue tells of itself under that name. */
  async metric(line: string): Promise<string | undefined> {
    const text = await this.registry.metrics();
    return text
      .split("\n")
      .find((found) => found.startsWith(`${line}{`) && !found.includes("le="))
      ?.split(" ")[1];
  }
}
