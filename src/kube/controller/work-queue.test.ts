import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { settle, SteppedClock } from "../../../test/world/stepped-clock.ts";
import { QueueBench } from "../../../test/world/queue-bench.ts";
import { type Requeue, TerminalError, WorkQueue, type WorkQueueOptions } from "./work-queue.ts";

let bench = new QueueBench();
const start = (options?: Partial<WorkQueueOptions>): QueueBench => (bench = new QueueBench(options));

describe("adding", () => {
  test("a key that waits is in the queue once, however often it is added", async () => {
    const { queue, started, clock } = start();
    for (let i = 0; i < 5; i++) queue.add("a");
    await clock.step(0);
    expect(started).toEqual(["a"]);
    await bench.succeed("a");
    await clock.step(60_000);
    expect(started).toEqual(["a"]);
  });

  test("a key added while it runs, runs exactly once more, and not at the same time", async () => {
    const { started, clock } = start();
    await bench.add("a");
    await bench.add("a", "a", "a");
    expect(bench.overlaps).toEqual([]);
    expect(started).toEqual(["a"]);
    await bench.succeed("a");
    expect(started).toEqual(["a", "a"]);
    await bench.succeed("a");
    await clock.step(60_000);
    expect(started).toEqual(["a", "a"]);
  });

  test("keys run in the order in which they began to wait; one that is wanted again joins at the end", async () => {
    const { started } = start({ concurrency: 1 });
    await bench.add("a", "b", "a", "c");
    await bench.add("a");
    await bench.succeed("a");
    await bench.succeed("b");
    await bench.succeed("c");
    await bench.succeed("a");
    expect(started).toEqual(["a", "b", "c", "a"]);
  });

  test("a key that a request waits for goes before those that wait, also when it was added again while it ran", async () => {
    const { started, queue, clock } = start({ concurrency: 1 });
    await bench.add("a", "b", "c");
    queue.add("c", "first");
    queue.add("a", "first");
    await clock.step(0);
    await bench.succeed("a");
    await bench.succeed("c");
    await bench.succeed("a");
    expect(started).toEqual(["a", "c", "a", "b"]);
  });

  test("a change that comes while its key runs is no routine look, also when one was asked for before it", async () => {
    const { started, queue } = start({ concurrency: 1 });
    await bench.add("a");
    for (const key of ["look", "a"]) queue.add(key, "routine");
    queue.add("a");
    for (const key of ["a", "a"]) await bench.succeed(key);
    expect(started).toEqual(["a", "a", "look"]);
  });

  test("a routine look waits for all that has changed", async () => {
    const { started, clock } = start({ concurrency: 1 });
    await bench.add("look");
    await bench.succeed("look", { afterMs: 1_000, exact: true, routine: true });
    await bench.add("a", "b", "c");
    await clock.step(1_000);
    for (const key of ["a", "b", "c"]) await bench.succeed(key);
    expect(started).toEqual(["look", "a", "b", "c", "look"]);
  });

  test("no more runs than allowed are under way at once, and a free place is filled at once", async () => {
    start({ concurrency: 2 });
    await bench.add("a", "b", "c", "d");
    expect(bench.running).toEqual(["a", "b"]);
    await bench.succeed("b");
    expect(bench.running).toEqual(["a", "c"]);
  });

  test("keys added before the start run after it", async () => {
    const clock = new SteppedClock();
    const started: string[] = [];
    const queue = new WorkQueue({
      name: "early",
      clock,
      metrics: prometheusMetrics(new Registry()),
      run: async (key): Promise<Requeue> => void started.push(key),
      onFailure: () => {},
    });
    queue.add("a");
    await settle();
    expect(started).toEqual([]);
    queue.start();
    await settle();
    expect(started).toEqual(["a"]);
    await queue.stop(0);
  });

  test("runs that never wait for anything leave timers and sockets their turn", async () => {
    let turns = 0;
    let started = 0;
    const { queue } = start({ run: async (): Promise<Requeue> => void started++ });
    for (let i = 0; i < 1000; i++) queue.add(`key-${i}`);
    for (; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve));
    expect(started).toBeLessThan(1000);
    for (; turns < 50; turns++) await new Promise((resolve) => setImmediate(resolve));
    expect(started).toBe(1000);
  });
});

describe("adding later", () => {
  test("a key added for later runs then and not before", async () => {
    const { queue, started, clock } = start();
    queue.addAfter("a", 100);
    await clock.step(99);
    expect(started).toEqual([]);
    await clock.step(1);
    expect(started).toEqual(["a"]);
  });

  test.each([
    [100, 30],
    [30, 100],
  ])("of the wishes for %i ms and %i ms the earlier wins and is the only run", async (first, second) => {
    const { queue, started, clock } = start();
    queue.addAfter("a", first);
    queue.addAfter("a", second);
    await clock.step(30);
    expect(started).toEqual(["a"]);
    await bench.succeed("a");
    await clock.step(1000);
    expect(started).toEqual(["a"]);
  });

  test("a wish for later outlives a run that happens before it", async () => {
    const { queue, started, clock } = start();
    queue.addAfter("a", 100);
    await bench.add("a");
    await bench.succeed("a");
    await clock.step(100);
    expect(started).toEqual(["a", "a"]);
  });

  test.each([0, -5])("a wait of %i ms is no wait", async (ms) => {
    const { queue, started } = start();
    queue.addAfter("a", ms);
    await settle();
    expect(started).toEqual(["a"]);
  });

  test("a wait that no timer can hold ends early instead of at once", async () => {
    const { queue, started, clock } = start();
    queue.addAfter("a", Number.POSITIVE_INFINITY);
    await clock.step(23 * 3_600_000);
    expect(started).toEqual([]);
    await clock.step(3_600_000);
    expect(started).toEqual(["a"]);
  });
});

describe("requeue after success", () => {
  test.each([
    [0, 8000],
    [0.5, 10_000],
    [0.999999, 12_000],
  ])("with chance %d a run that asks for ten seconds comes back after %i ms", async (chance, expected) => {
    const { started, clock } = start({ random: () => chance });
    await bench.add("a");
    await bench.succeed("a", { afterMs: 10_000 });
    await clock.step(expected - 1);
    expect(started).toEqual(["a"]);
    await clock.step(1);
    expect(started).toEqual(["a", "a"]);
  });

  test("a key wanted again while it ran does not also come back later: the newer run decides", async () => {
    const { started, clock } = start();
    await bench.add("a");
    await bench.add("a");
    await bench.succeed("a", { afterMs: 100 });
    await bench.succeed("a");
    await clock.step(1000);
    expect(started).toEqual(["a", "a"]);
  });

  test("a key that always asks for at once still lets time pass between its runs", async () => {
    let runs = 0;
    const { queue, clock } = start({
      run: async () => {
        runs++;
        return { afterMs: 0 };
      },
    });
    queue.add("a");
    await clock.step(10);
    expect(runs).toBe(11);
  });
});

describe("failures", () => {
  test("each failure in a row doubles the wait, and a success starts anew", async () => {
    const { clock, failures } = start({ backoff: { baseMs: 100, maxMs: 1000, jitter: "equal" }, random: () => 1 });
    await bench.add("a");
    for (const wait of [100, 200, 400, 800, 1000, 1000]) {
      await bench.fail("a");
      await clock.step(wait - 1);
      expect(bench.running).toEqual([]);
      await clock.step(1);
      expect(bench.running).toEqual(["a"]);
    }
    await bench.succeed("a");
    await bench.add("a");
    await bench.fail("a");
    expect(failures.map(({ failures: count, retryInMs }) => [count, retryInMs])).toEqual([
      [1, 100],
      [2, 200],
      [3, 400],
      [4, 800],
      [5, 1000],
      [6, 1000],
      [1, 100],
    ]);
  });

  test("a failing key does not hold up the others", async () => {
    const { started } = start({ concurrency: 1 });
    await bench.add("bad", "good");
    await bench.fail("bad");
    expect(started).toEqual(["bad", "good"]);
  });

  test("a key that is added while it waits for its retry runs at once", async () => {
    const { clock } = start({ backoff: { baseMs: 10_000, maxMs: 10_000, jitter: "equal" } });
    await bench.add("a");
    await bench.fail("a");
    await clock.step(1);
    await bench.add("a");
    expect(bench.running).toEqual(["a"]);
  });

  test("a key that failed but was wanted again while it ran has one more run, not two", async () => {
    const { started, clock } = start({ backoff: { baseMs: 10, maxMs: 10, jitter: "equal" } });
    await bench.add("a");
    await bench.add("a");
    await bench.fail("a");
    expect(started).toEqual(["a", "a"]);
    await bench.succeed("a");
    await clock.step(1000);
    expect(started).toEqual(["a", "a"]);
  });

  test("a terminal error is reported once and not retried; the next change of the object runs it again", async () => {
    const { started, clock, failures } = start();
    const error = new TerminalError("the template is wrong");
    await bench.add("a");
    await bench.fail("a", error);
    await clock.step(3_600_000);
    expect(started).toEqual(["a"]);
    expect(failures).toEqual([{ key: "a", error, failures: 1 }]);
    await bench.add("a");
    expect(started).toEqual(["a", "a"]);
  });

  test("a server that says when to come again is not asked before", async () => {
    const { clock } = start();
    await bench.add("a");
    await bench.fail("a", new ApiError("TooManyRequests", "slow down", { retryAfterMs: 5000 }));
    await clock.step(4999);
    expect(bench.running).toEqual([]);
    await clock.step(1);
    expect(bench.running).toEqual(["a"]);
  });

  test("anything may be thrown, even before the first await, and the loop goes on", async () => {
    const thrown: unknown[] = [undefined, null, "text", 42, new Error("real")];
    const seen: unknown[] = [];
    const { queue, clock } = start({
      run: () => {
        if (thrown.length === 0) return Promise.resolve(undefined);
        throw thrown.shift();
      },
      onFailure: ({ error }) => seen.push(error),
    });
    queue.add("a");
    await clock.step(60_000);
    expect(seen).toEqual([undefined, null, "text", 42, new Error("real")]);
  });

  test("a reporter that throws does not end the loop", async () => {
    const { clock } = start({
      onFailure: () => {
        throw new Error("the log is full");
      },
    });
    await bench.add("a");
    await bench.fail("a");
    await clock.step(1000);
    expect(bench.running).toEqual(["a"]);
  });
});
