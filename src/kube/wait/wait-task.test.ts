import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import { annotationKeys } from "#model/keys.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { settle } from "../../../test/world/stepped-clock.ts";
import { pauseAskedAt, WaitBench } from "../../../test/world/wait-bench.ts";
import { checkPaused, checkReady, checkResumed } from "#read-model/sandbox-checkers.ts";
import { isWaitError, type WaitError } from "./wait-error.ts";
import { WaitRegistry } from "./wait-registry.ts";

const minute = { timeoutMs: 60_000 };

/** How the wait ended: the object's version, or the error. Never rejects, so that a test can step the clock meanwhile. */
function ending(wait: Promise<{ metadata: { resourceVersion?: string } }>): Promise<unknown> {
  return wait.then(
    (object) => object.metadata.resourceVersion,
    (error: unknown) => error,
  );
}

/** A registry that hears of no event. */
function deafRegistry(bench: WaitBench): WaitRegistry<Pod> {
  return new WaitRegistry(bench.waits.deps);
}

describe("a lazy wait", () => {
  test("for a state that is there already returns at once, without holding anything", async () => {
    await using bench = await WaitBench.start();
    const pod = bench.put();
    bench.waits.acquiredTask("pause", pod, checkPaused);
    await expect(bench.waits.lazyTask("ready", pod, checkReady).wait({ timeoutMs: 0 })).resolves.toBe(pod);
  });

  test("for a state that cannot come fails at once", async () => {
    await using bench = await WaitBench.start();
    const task = bench.waits.lazyTask("ready", bench.put({ phase: "stopping" }), checkReady);
    const error = await ending(task.wait(minute));
    expect(isWaitError(error, { code: "failed", action: "ready", reason: "Released" })).toBe(true);
    expect(bench.waits.held()).toEqual([]);
  });

  test("without time looks only at what it was given", async () => {
    await using bench = await WaitBench.start();
    const pod = bench.put({ ready: false });
    bench.put({ ready: true });
    await settle();
    const error = await ending(bench.waits.lazyTask("ready", pod, checkReady).wait({ timeoutMs: 0 }));
    expect(isWaitError(error, { code: "not-satisfied", action: "ready", because: "no-time", duringDoubleCheck: false })).toBe(true);
  });

  test("holds its object only while it waits", async () => {
    await using bench = await WaitBench.start();
    const task = bench.waits.lazyTask("ready", bench.put({ ready: false }), checkReady);
    expect(bench.waits.held()).toEqual([]);
    const wait = ending(task.wait(minute));
    await settle();
    expect(bench.waits.held()).toEqual([{ key: "ns/p", action: "ready", holders: 1 }]);
    bench.put({ ready: true });
    await wait;
    expect(bench.waits.held()).toEqual([]);
  });

  test("learns at its start of what happened since the caller looked", async () => {
    await using bench = await WaitBench.start();
    const pod = bench.put({ ready: false });
    const now = bench.put({ ready: true });
    await settle();
    await expect(bench.waits.lazyTask("ready", pod, checkReady).wait(minute)).resolves.toBe(now);
  });
});

describe("a caller that knows more than the cache", () => {
  test("is not failed by the older state, and is told when the cache has caught up", async () => {
    await using bench = await WaitBench.start();
    bench.put({ phase: "idle" });
    await settle();
    bench.server.hold();
    const claimed = bench.put({ phase: "starting" });
    const wait = ending(bench.waits.lazyTask("ready", claimed, checkReady).wait(minute));
    await settle();
    const ready = bench.put({ phase: "running" });
    bench.server.release();
    expect(await wait).toBe(ready.metadata.resourceVersion);
  });
});

describe("an acquired wait", () => {
  test("holds its object from its making, and conflicts are told before anything is written", async () => {
    await using bench = await WaitBench.start();
    const pod = bench.put();
    using task = bench.waits.acquiredTask("pause", pod, checkPaused);
    expect(bench.waits.held()).toEqual([{ key: "ns/p", action: "pause", holders: 1 }]);
    expect(() => bench.waits.acquiredTask("resume", pod, checkResumed)).toThrow(
      "resume of pods ns/p is not possible now: pause of it is under way",
    );
    task.release();
    expect(bench.waits.held()).toEqual([]);
  });

  test("without time looks once, at the cache", async () => {
    await using bench = await WaitBench.start();
    const pod = bench.put();
    bench.put({ pauseWish: pauseAskedAt, paused: {} });
    await settle();
    await expect(bench.waits.acquiredTask("pause", pod, checkPaused).wait({ timeoutMs: 0 })).resolves.toBeDefined();
    const error = await ending(bench.waits.acquiredTask("resume", pod, checkResumed).wait({ timeoutMs: -1 }));
    expect(isWaitError(error, { code: "not-satisfied", action: "resume", because: "no-time", duringDoubleCheck: true })).toBe(true);
    expect(bench.waits.held()).toEqual([]);
  });

  test("is told by an event, not by a poll", async () => {
    await using bench = await WaitBench.start();
    const task = bench.waits.acquiredTask("pause", bench.put(), checkPaused);
    await settle();
    const wait = ending(task.wait(minute));
    await settle();
    bench.put({ pauseWish: pauseAskedAt });
    await settle();
    const paused = bench.put({ pauseWish: pauseAskedAt, paused: {}, ready: false });
    expect(await wait).toBe(paused.metadata.resourceVersion);
    expect(bench.server.calls.filter((call) => call.verb === "get")).toEqual([]);
  });

  test("can be used once", async () => {
    await using bench = await WaitBench.start();
    const task = bench.waits.acquiredTask("resume", bench.put(), checkResumed);
    await settle();
    await task.wait(minute);
    const again = await ending(task.wait(minute));
    expect(isWaitError(again, { code: "used", action: "resume" })).toBe(true);
    const released = bench.waits.acquiredTask("resume", bench.put(), checkResumed);
    released.release();
    expect(isWaitError(await ending(released.wait(minute)), { code: "used" })).toBe(true);
  });

  test("lets go once, however often it is released, and not while it waits", async () => {
    await using bench = await WaitBench.start();
    const pod = bench.put();
    const other = bench.waits.acquiredTask("pause", pod, checkPaused);
    const task = bench.waits.acquiredTask("pause", pod, checkPaused);
    const wait = ending(task.wait(minute));
    task.release();
    expect(bench.waits.held()).toMatchObject([{ holders: 2 }]);
    await bench.clock.step(60_000);
    await wait;
    task.release();
    task.release();
    expect(bench.waits.held()).toMatchObject([{ holders: 1 }]);
    other.release();
    other.release();
    expect(bench.waits.held()).toEqual([]);
  });
});

describe("one action at a time", () => {
  test("the same action joins, another one is told both names", async () => {
    await using bench = await WaitBench.start();
    const pod = bench.put({ ready: false });
    const first = ending(bench.waits.lazyTask("ready", pod, checkReady).wait(minute));
    const second = ending(bench.waits.lazyTask("ready", pod, checkReady).wait(minute));
    await settle();
    expect(bench.waits.held()).toEqual([{ key: "ns/p", action: "ready", holders: 2 }]);
    expect(() => bench.waits.acquiredTask("pause", pod, checkPaused)).toThrow(
      expect.objectContaining({ detail: { code: "conflict", existing: "ready", requested: "pause" }, object: "pods ns/p" }),
    );
    expect(bench.waits.held()).toMatchObject([{ holders: 2 }]);
    const ready = bench.put();
    expect(await Promise.all([first, second])).toEqual([ready.metadata.resourceVersion, ready.metadata.resourceVersion]);
  });

  test("a lazy wait learns of the conflict when it waits", async () => {
    await using bench = await WaitBench.start();
    const pod = bench.put({ ready: false });
    const pause = bench.waits.acquiredTask("pause", pod, checkPaused);
    const error = await ending(bench.waits.lazyTask("ready", pod, checkReady).wait(minute));
    expect(isWaitError(error, { code: "conflict", existing: "pause", requested: "ready" })).toBe(true);
    pause.release();
  });

  test("objects of other names are not touched by it", async () => {
    await using bench = await WaitBench.start();
    const pause = bench.waits.acquiredTask("pause", bench.put({}, "p"), checkPaused);
    const resume = bench.waits.acquiredTask("resume", bench.put({}, "q"), checkResumed);
    expect(bench.waits.held()).toHaveLength(2);
    for (const task of [pause, resume]) task.release();
  });
});

describe("a wake-up", () => {
  test("that finds the state gone again goes on waiting", async () => {
    await using bench = await WaitBench.start();
    const wait = ending(bench.waits.lazyTask("ready", bench.put({ ready: false }), checkReady).wait(minute));
    await settle();
    // Both are in the cache before the waiter gets to run.
    bench.informer.remember(bench.put({ ready: true }));
    bench.informer.remember(bench.put({ ready: false }));
    await settle();
    expect(bench.waits.held()).toMatchObject([{ holders: 1 }]);
    const ready = bench.put({ ready: true });
    expect(await wait).toBe(ready.metadata.resourceVersion);
  });

  test("that finds the state impossible ends the wait", async () => {
    await using bench = await WaitBench.start();
    const wait = ending(bench.waits.lazyTask("ready", bench.put({ ready: false }), checkReady).wait(minute));
    await settle();
    bench.put({ phase: "stopping" });
    expect(isWaitError(await wait, { code: "failed", reason: "Released" })).toBe(true);
  });

  test("because the object went is checked on the server, then told", async () => {
    await using bench = await WaitBench.start();
    const wait = ending(bench.waits.lazyTask("ready", bench.put({ ready: false }), checkReady).wait(minute));
    await settle();
    bench.server.remove(Pods, { namespace: "ns", name: "p" });
    expect(await wait).toMatchObject({
      message: "ready of pods ns/p: it is gone",
      detail: { code: "gone", action: "ready" },
      cause: { reason: "NotFound" },
    });
  });

  test("by another object of the same name is the end of ours", async () => {
    await using bench = await WaitBench.start();
    const wait = ending(bench.waits.lazyTask("ready", bench.put({ ready: false }), checkReady).wait(minute));
    await settle();
    bench.server.remove(Pods, { namespace: "ns", name: "p" });
    bench.put({ metadata: { uid: "another" } });
    expect(isWaitError(await wait, { code: "gone" })).toBe(true);
  });
});

describe("an object that the cache does not have yet", () => {
  test("is read from the server", async () => {
    await using bench = await WaitBench.start();
    bench.server.hold();
    const early = bench.put({ ready: false });
    const ready = bench.put({ ready: true });
    expect(await ending(bench.waits.lazyTask("ready", early, checkReady).wait(minute))).toBe(ready.metadata.resourceVersion);
    expect(bench.informer.objects.size).toBe(0);
  });

  test("and that arrives later wakes its wait", async () => {
    await using bench = await WaitBench.start();
    bench.server.hold();
    const wait = ending(bench.waits.lazyTask("ready", bench.put({ ready: false }), checkReady).wait(minute));
    await settle();
    const ready = bench.put({ ready: true });
    bench.server.release();
    expect(await wait).toBe(ready.metadata.resourceVersion);
  });

  test("and that changes while the server's older answer is on its way is looked at again", async () => {
    await using bench = await WaitBench.start(1_000_000);
    const answer = Promise.withResolvers<Pod>();
    const reader = { ...bench.waits.deps.reader, live: () => answer.promise };
    const waits = new WaitRegistry({ ...bench.waits.deps, reader });
    bench.informer.onChange(waits.onChange);
    bench.server.hold();
    const early = bench.put({ ready: false });
    const wait = ending(waits.lazyTask("ready", early, checkReady).wait(minute));
    await settle();
    const ready = bench.put({ ready: true });
    bench.server.release();
    await settle();
    answer.resolve(early);
    expect(await wait).toBe(ready.metadata.resourceVersion);
  });

  test("whose reading fails ends the wait with that error", async () => {
    await using bench = await WaitBench.start();
    bench.server.hold();
    bench.server.failNext("get", new ApiError("Forbidden", "no"));
    const error = await ending(bench.waits.lazyTask("ready", bench.put({ ready: false }), checkReady).wait(minute));
    expect(error).toMatchObject({ name: "ApiError", reason: "Forbidden" });
    expect(bench.waits.held()).toEqual([]);
  });
});

describe("the end of the time", () => {
  test("is told with what was missing, after a last look", async () => {
    await using bench = await WaitBench.start();
    const wait = ending(bench.waits.lazyTask("ready", bench.put({ ready: false }), checkReady).wait(minute));
    await bench.clock.step(59_999);
    expect(bench.waits.held()).toHaveLength(1);
    await bench.clock.step(1);
    expect(await wait).toMatchObject({
      message: "ready of pods ns/p: timed out: the pod is not ready",
      detail: { code: "not-satisfied", action: "ready", because: "deadline", duringDoubleCheck: true, waitingFor: "the pod is not ready" },
    });
    expect(bench.clock.pending).toBe(1);
  });

  test("finds a state whose event was missed", async () => {
    await using bench = await WaitBench.start(1_000_000);
    const pod = bench.put({ ready: false });
    await settle();
    const wait = ending(deafRegistry(bench).lazyTask("ready", pod, checkReady).wait(minute));
    const ready = bench.put({ ready: true });
    await bench.clock.step(60_000);
    expect(await wait).toBe(ready.metadata.resourceVersion);
  });

  test("comes also when the server does not answer", async () => {
    await using bench = await WaitBench.start();
    bench.server.hold();
    const pod = bench.put({ ready: false });
    const reader = {
      cached: () => undefined,
      live: (_: unknown, signal: AbortSignal) =>
        new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
    };
    const wait = ending(new WaitRegistry({ ...bench.waits.deps, reader }).lazyTask("ready", pod, checkReady).wait(minute));
    await bench.clock.step(60_000);
    expect(isWaitError(await wait, { code: "not-satisfied", because: "deadline", waitingFor: "the object is not in the cache" })).toBe(
      true,
    );
  });

  test("is also when the caller gives up, with the caller's reason", async () => {
    await using bench = await WaitBench.start();
    const abort = new AbortController();
    const wait = ending(bench.waits.lazyTask("ready", bench.put({ ready: false }), checkReady).wait({ ...minute, signal: abort.signal }));
    await settle();
    abort.abort(new Error("client went away"));
    const error = (await wait) as WaitError;
    expect(isWaitError(error, { code: "not-satisfied", because: "cancelled" })).toBe(true);
    expect(error.cause).toEqual(new Error("client went away"));
    expect(getEventListeners(abort.signal, "abort")).toEqual([]);
    expect([bench.waits.held(), bench.clock.pending]).toEqual([[], 1]);
  });

  test("is at once for a caller that has given up before, unless the state is there", async () => {
    await using bench = await WaitBench.start();
    const signal = AbortSignal.abort(new Error("too late"));
    const pod = bench.put({ ready: false });
    await settle();
    const error = await ending(bench.waits.lazyTask("ready", pod, checkReady).wait({ ...minute, signal }));
    expect(isWaitError(error, { because: "cancelled" })).toBe(true);
    bench.put({ ready: true });
    await settle();
    await expect(bench.waits.lazyTask("ready", pod, checkReady).wait({ ...minute, signal })).resolves.toBeDefined();
  });
});

test("a wait looks again from time to time, in case an event was missed", async () => {
  await using bench = await WaitBench.start();
  const deaf = deafRegistry(bench);
  const wait = ending(deaf.lazyTask("ready", bench.put({ ready: false }), checkReady).wait(minute));
  await settle();
  const ready = bench.put({ ready: true });
  await bench.clock.step(9_999);
  expect(deaf.held()).toHaveLength(1);
  await bench.clock.step(1);
  expect(await wait).toBe(ready.metadata.resourceVersion);
});

test("releasing a lazy task does nothing: it holds nothing, and can still be used, once", async () => {
  await using bench = await WaitBench.start();
  const pod = bench.put();
  await settle();
  const task = bench.waits.lazyTask("ready", pod, checkReady);
  task.release();
  task[Symbol.dispose]();
  await expect(task.wait(minute)).resolves.toBe(pod);
  task.release();
  expect(isWaitError(await ending(task.wait(minute)), { code: "used" })).toBe(true);
});

test("a sandbox whose end passes during the wait is over at the next look, without an event", async () => {
  await using bench = await WaitBench.start();
  const end = new Date(bench.clock.now() + 15_000).toISOString();
  const pod = bench.put({ ready: false, annotations: { [annotationKeys.endTime]: end } });
  const wait = ending(bench.waits.lazyTask("ready", pod, checkReady).wait(minute));
  await bench.clock.step(20_000);
  expect(isWaitError(await wait, { code: "failed", reason: "PastEnd" })).toBe(true);
});
