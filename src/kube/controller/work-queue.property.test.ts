import * as fc from "fast-check";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { prometheusMetrics } from "#lib/metrics.ts";
import { settle, SteppedClock } from "../../../test/world/stepped-clock.ts";
import { type Requeue, TerminalError, WorkQueue } from "./work-queue.ts";

const keys = ["a", "b", "c", "d"];

const operation = fc.oneof(
  fc.record({ kind: fc.constant("add" as const), key: fc.constantFrom(...keys) }),
  fc.record({ kind: fc.constant("addAfter" as const), key: fc.constantFrom(...keys), ms: fc.integer({ min: -1, max: 50 }) }),
  fc.record({ kind: fc.constant("end" as const), how: fc.constantFrom("done", "requeue", "error", "terminal"), which: fc.nat(10) }),
  fc.record({ kind: fc.constant("step" as const), ms: fc.integer({ min: 0, max: 40 }) }),
);

type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

/** Watches a queue from outside: what was wanted when, and what ran when. */
class Watcher {
  readonly clock = new SteppedClock();
  readonly running = new Map<string, PromiseWithResolvers<Requeue>>();
  /** Keys with a wish that no run has started after. */
  readonly wanted = new Set<string>();
  readonly startOrder: string[] = [];
  readonly overlaps: string[] = [];
  mostAtOnce = 0;
  readonly queue: WorkQueue;

  constructor(concurrency: number) {
    this.queue = new WorkQueue({
      name: "watched",
      clock: this.clock,
      metrics: prometheusMetrics(new Registry()),
      concurrency,
      run: (key) => this.#run(key),
      onFailure: () => {},
    });
    this.queue.start();
  }

  #run(key: string): Promise<Requeue> {
    if (this.running.has(key)) this.overlaps.push(key);
    const end = Promise.withResolvers<Requeue>();
    this.running.set(key, end);
    this.wanted.delete(key);
    this.startOrder.push(key);
    this.mostAtOnce = Math.max(this.mostAtOnce, this.running.size);
    return end.promise;
  }

  async end(which: number, how: string): Promise<void> {
    const [key, end] = [...this.running][which % Math.max(1, this.running.size)] ?? [];
    if (key === undefined || end === undefined) return;
    this.running.delete(key);
    if (how === "done") end.resolve(undefined);
    else if (how === "requeue") end.resolve({ afterMs: 20 });
    else end.reject(how === "terminal" ? new TerminalError("no") : new Error("no"));
    await settle();
  }

  async apply(op: Operation): Promise<void> {
    if (op.kind === "end") return this.end(op.which, op.how);
    if (op.kind === "step") return this.clock.step(op.ms);
    if (op.kind === "addAfter") return this.queue.addAfter(op.key, op.ms);
    this.wanted.add(op.key);
    this.queue.add(op.key);
  }
}

test("whatever is added and however runs end: no key twice at once, never too many, and every wish is followed by a run", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(operation, { maxLength: 60 }), async (concurrency, operations) => {
      const watcher = new Watcher(concurrency);
      for (const op of operations) await watcher.apply(op);
      await settle();
      for (let i = 0; watcher.running.size > 0 && i < 200; i++) await watcher.end(0, "done");
      expect([...watcher.wanted]).toEqual([]);
      expect(watcher.overlaps).toEqual([]);
      expect(watcher.mostAtOnce).toBeLessThanOrEqual(concurrency);
      await watcher.queue.stop(0);
      expect(watcher.clock.pending).toBe(0);
    }),
    { numRuns: 200 },
  );
});

test("with one worker keys are served in the order in which they were first added", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...keys), { minLength: 1, maxLength: 20 }), async (adds) => {
      const watcher = new Watcher(1);
      for (const key of adds) watcher.queue.add(key);
      await settle();
      while (watcher.running.size > 0) await watcher.end(0, "done");
      expect(watcher.startOrder).toEqual([...new Set(adds)]);
      await watcher.queue.stop(0);
    }),
    { numRuns: 50 },
  );
});
