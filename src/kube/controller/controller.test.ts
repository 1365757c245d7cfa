import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { prometheusMetrics } from "#lib/metrics.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { settle, SteppedClock } from "../../../test/world/stepped-clock.ts";
import { type ControllerOptions, startController } from "./controller.ts";
import { formatKey, type Key } from "./key.ts";
import type { Source } from "./source.ts";
import { TerminalError } from "./work-queue.ts";

/** A source that the test fires and syncs. */
class HandSource implements Source {
  add: (key: Key) => void = () => {};
  readonly sync = Promise.withResolvers<void>();
  connected = false;

  connect(add: (key: Key) => void): ReturnType<Source["connect"]> {
    this.add = add;
    this.connected = true;
    return {
      whenSynced: (signal) =>
        Promise.race([
          this.sync.promise,
          new Promise<never>((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason as Error))),
        ]),
      remove: () => (this.connected = false),
    };
  }
}

const py: Key = { namespace: "team", name: "py" };

function start(options: Partial<ControllerOptions> = {}) {
  const clock = new SteppedClock();
  const registry = new Registry();
  const { log, lines } = recordedLog();
  const source = new HandSource();
  const reconciled: string[] = [];
  const controller = startController(
    { clock, log, metrics: prometheusMetrics(registry), random: () => 0.5 },
    {
      name: "pool",
      sources: [source],
      reconcile: async (key) => {
        reconciled.push(formatKey(key));
        return undefined;
      },
      ...options,
    },
  );
  return { clock, registry, lines, source, reconciled, controller };
}

test("no key runs before every source is synced", async () => {
  const [pools, pods] = [new HandSource(), new HandSource()];
  const { reconciled, controller, clock } = start({ sources: [pools, pods] });
  pools.add(py);
  pools.sync.resolve();
  await clock.step(60_000);
  expect(reconciled).toEqual([]);
  pods.sync.resolve();
  await controller.started;
  await settle();
  expect(reconciled).toEqual(["team/py"]);
});

test("many events of one object are one look at it", async () => {
  const { reconciled, source } = start();
  source.sync.resolve();
  await settle();
  for (let i = 0; i < 10; i++) source.add(py);
  await settle();
  expect(reconciled).toEqual(["team/py"]);
});

test("a reconciler is given the key as an object and may be woken by hand, now and later", async () => {
  const keys: Key[] = [];
  const { controller, clock, source } = start({ reconcile: async (key): Promise<undefined> => void keys.push(key) });
  source.sync.resolve();
  controller.add({ name: "cluster-scoped" });
  controller.addAfter(py, 100);
  await clock.step(100);
  expect(keys).toEqual([{ name: "cluster-scoped" }, py]);
});

test("a reconciler that asks to look again is asked again", async () => {
  let looks = 0;
  const { controller, clock, source, registry } = start({
    reconcile: async () => (++looks < 3 ? { afterMs: 1000 } : undefined),
  });
  source.sync.resolve();
  controller.add(py);
  await clock.step(10_000);
  expect(looks).toBe(3);
  const text = await registry.metrics();
  expect(text).toContain('agentbox_reconcile_total{controller="pool",result="requeue"} 2');
  expect(text).toContain('agentbox_reconcile_total{controller="pool",result="done"} 1');
});

test("an error is logged with its key and tried again; a terminal one is logged once", async () => {
  const errors = [new Error("no answer"), "not even an error", new TerminalError("the template is wrong")];
  const { controller, clock, lines, source, registry } = start({
    reconcile: async () => {
      throw errors.shift();
    },
  });
  source.sync.resolve();
  controller.add(py);
  await clock.step(3_600_000);
  expect(lines).toMatchObject([
    { level: "warn", controller: "pool", key: "team/py", failures: 1, error: { message: "no answer" } },
    { level: "warn", controller: "pool", key: "team/py", failures: 2, error: "not even an error" },
    { level: "error", controller: "pool", key: "team/py", error: { message: "the template is wrong" } },
  ]);
  const text = await registry.metrics();
  expect(text).toContain('agentbox_reconcile_total{controller="pool",result="error"} 2');
  expect(text).toContain('agentbox_reconcile_total{controller="pool",result="terminal"} 1');
});

test("stopping disconnects from the sources, ends what runs and names what did not end", async () => {
  let seen: AbortSignal | undefined;
  const { controller, clock, lines, source, reconciled } = start({
    reconcile: (_key, signal) => {
      seen = signal;
      return new Promise(() => {});
    },
  });
  source.sync.resolve();
  controller.add(py);
  await settle();
  const stopped = controller.stop(500);
  expect(source.connected).toBe(false);
  expect(seen?.aborted).toBe(true);
  await clock.step(500);
  await stopped;
  expect(lines).toMatchObject([{ level: "warn", keys: ["team/py"], withinMs: 500 }]);
  expect(reconciled).toEqual([]);
});

test("a controller stopped before its sources synced never works, and that is no error", async () => {
  const { controller, source, reconciled, lines } = start();
  source.add(py);
  await controller.stop();
  await expect(controller.started).rejects.toThrow("controller pool was stopped");
  source.sync.resolve();
  await settle();
  expect(reconciled).toEqual([]);
  expect(lines).toEqual([]);
});

test("sources that will never sync are told", async () => {
  const { controller, source, lines } = start();
  source.sync.reject(new Error("the informer was stopped"));
  await expect(controller.started).rejects.toThrow("the informer was stopped");
  expect(lines).toMatchObject([{ level: "error", controller: "pool", error: { message: "the informer was stopped" } }]);
});

test("a controller whose leader lost its lease works no more, also when it had not begun", async () => {
  const lease = new AbortController();
  const working = start({ signal: lease.signal });
  const waiting = start({ signal: lease.signal });
  working.source.sync.resolve();
  await working.controller.started;
  lease.abort(new Error("lease lost"));
  waiting.source.sync.resolve();
  await expect(waiting.controller.started).rejects.toThrow("lease lost");
  for (const { controller, clock, reconciled } of [working, waiting]) {
    controller.add(py);
    await clock.step(1000);
    expect(reconciled).toEqual([]);
  }
});

test("a controller without sources starts at once, unless its signal has ended", async () => {
  await expect(start({ sources: [] }).controller.started).resolves.toBeUndefined();
  await expect(start({ sources: [], signal: AbortSignal.abort(new Error("lease lost")) }).controller.started).rejects.toThrow("lease lost");
});
