import { describe, expect, test } from "vitest";
import { checkedSignal } from "#lib/checked-signal.ts";
import { QueueBench } from "../../../test/world/queue-bench.ts";
import type { WorkQueueOptions } from "./work-queue.ts";

let bench = new QueueBench();
const start = (options?: Partial<WorkQueueOptions>): QueueBench => (bench = new QueueBench(options));

describe("stopping", () => {
  test("waiting keys are dropped, running ones are told and awaited", async () => {
    const { queue, started, clock, signals } = start({ concurrency: 1 });
    await bench.add("a", "b");
    queue.addAfter("c", 10);
    let left: readonly string[] | undefined;
    void queue.stop(1000).then((keys) => (left = keys));
    expect(signals.get("a")?.aborted).toBe(true);
    expect(String(signals.get("a")?.reason)).toContain("bench was stopped");
    await clock.step(500);
    expect(left).toBeUndefined();
    await bench.succeed("a", { afterMs: 1 });
    expect(left).toEqual([]);
    await bench.add("d");
    await clock.step(60_000);
    expect(started).toEqual(["a"]);
    expect(clock.pending).toBe(0);
  });

  test("who does not end in time is named, and a second stop waits for the same end", async () => {
    const { queue, clock } = start();
    await bench.add("stuck", "quick");
    const stops = Promise.all([queue.stop(1000), queue.stop(5)]);
    await bench.succeed("quick");
    await clock.step(1000);
    expect(await stops).toEqual([["stuck"], ["stuck"]]);
  });

  test("a run that fails because it was told to end is not reported", async () => {
    const { queue, failures, signals } = start();
    await bench.add("a");
    const stopping = queue.stop(1000);
    await bench.fail("a", signals.get("a")?.reason);
    await stopping;
    expect(failures).toEqual([]);
  });

  test("when the owner's signal ends, runs end with its reason and none starts", async () => {
    const owner = new AbortController();
    const { started, signals, clock } = start({ signal: owner.signal });
    await bench.add("a");
    owner.abort(new Error("no longer leader"));
    expect(signals.get("a")?.reason).toEqual(new Error("no longer leader"));
    await bench.succeed("a", { afterMs: 1 });
    await bench.add("b");
    await clock.step(1000);
    expect(started).toEqual(["a"]);
  });

  test.each([
    ["before each run", () => {}],
    ["by whoever reads the run's own", () => expect(bench.signals.get("a")?.reason).toBe("slept through the lease")],
  ])("the owner's signal is read %s: it may learn by that that its time is over", async (_when, look) => {
    let over = false;
    const controller = new AbortController();
    const owner = checkedSignal(controller, () => over && controller.abort("slept through the lease"));
    const { started, signals } = start({ signal: owner, concurrency: 1 });
    await bench.add("a", "b");
    expect(signals.get("a")?.aborted).toBe(false);
    over = true;
    look();
    await bench.succeed("a");
    expect(started).toEqual(["a"]);
  });
});

describe("metrics", () => {
  test("depth, adds, waiting time, run time, retries and unfinished work are told", async () => {
    const { clock } = start({ concurrency: 2 });
    await bench.add("a");
    await clock.step(1000);
    await bench.add("b", "c", "c");
    await clock.step(2000);
    expect(await bench.metric("agentbox_workqueue_depth")).toBe("1");
    expect(await bench.metric("agentbox_workqueue_adds_total")).toBe("3");
    expect(await bench.metric("agentbox_workqueue_longest_running_seconds")).toBe("3");
    expect(await bench.metric("agentbox_workqueue_unfinished_work_seconds")).toBe("5");
    await bench.fail("a");
    expect(await bench.metric("agentbox_workqueue_retries_total")).toBe("1");
    expect(await bench.metric("agentbox_workqueue_run_seconds_sum")).toBe("3");
    expect(await bench.metric("agentbox_workqueue_wait_seconds_sum")).toBe("2");
    expect(await bench.metric("agentbox_workqueue_depth")).toBe("0");
  });

  test("a stopped queue is no longer told about", async () => {
    const { queue } = start();
    await queue.stop(0);
    expect(await bench.metric("agentbox_workqueue_depth")).toBeUndefined();
  });
});
