import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { type ObjectStore, openObjectStore } from "#engines/embedded/store/object-store.ts";
import { ApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { Events, Namespaces, type ObjectEvent } from "#model/core-kinds.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { type EventSubject, type Happening, EventRecorder } from "./event-recorder.ts";

const pool: EventSubject = { apiVersion: "agents.navix.sh/v1alpha1", kind: "SandboxPool", namespace: "ns", name: "py", uid: "uid-1" };
const started: Happening = { type: "Normal", reason: "ScalingUp", message: "one more" };

class Scene implements Disposable {
  readonly clock = new SteppedClock();
  readonly store: ObjectStore = openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock: this.clock });
  readonly registry = new Registry();
  readonly metrics = prometheusMetrics(this.registry);
  readonly logged = recordedLog();
  readonly recorder = this.recorderOver(this.store);

  recorderOver(client: ObjectClient): EventRecorder {
    return new EventRecorder({
      client,
      clock: this.clock,
      log: this.logged.log,
      metrics: this.metrics,
      component: "agentbox-controller",
      host: "machine-1",
    });
  }

  async events(): Promise<readonly ObjectEvent[]> {
    await this.recorder.written();
    return (await this.store.list(Events)).items;
  }

  [Symbol.dispose](): void {
    this.store.close();
  }
}

async function scene(): Promise<Scene> {
  const made = new Scene();
  await made.store.create(Namespaces, { metadata: { name: "ns" } });
  return made;
}

test("an event is beside its object and says who tells it", async () => {
  using world = await scene();
  world.recorder.record(pool, started);
  expect(await world.events()).toMatchObject([
    {
      metadata: { namespace: "ns", name: expect.stringMatching(/^py\.[0-9a-f]{16}$/) as string },
      involvedObject: { kind: "SandboxPool", apiVersion: "agents.navix.sh/v1alpha1", namespace: "ns", name: "py", uid: "uid-1" },
      type: "Normal",
      reason: "ScalingUp",
      message: "one more",
      count: 1,
      firstTimestamp: "2026-01-01T00:00:00Z",
      lastTimestamp: "2026-01-01T00:00:00Z",
      source: { component: "agentbox-controller", host: "machine-1" },
    },
  ]);
});

test("an event about a cluster-scoped object is in the namespace default", async () => {
  using world = await scene();
  await world.store.create(Namespaces, { metadata: { name: "default" } }).catch(() => {});
  const { namespace: _, ...template } = pool;
  world.recorder.record({ ...template, kind: "SandboxTemplate", name: "x".repeat(253) }, started);
  const [event] = await world.events();
  expect(event?.metadata.namespace).toBe("default");
  expect(event?.involvedObject).not.toHaveProperty("namespace");
  expect(event?.metadata.name).toHaveLength(253);
});

test("the same again is counted in the same object", async () => {
  using world = await scene();
  world.recorder.record(pool, started);
  await world.events();
  await world.clock.step(60_000);
  world.recorder.record(pool, started);
  world.recorder.record(pool, started);
  expect(await world.events()).toMatchObject([{ count: 3, firstTimestamp: "2026-01-01T00:00:00Z", lastTimestamp: "2026-01-01T00:01:00Z" }]);
});

test("a new process goes on counting where another stopped", async () => {
  using world = await scene();
  world.recorder.record(pool, started);
  await world.events();
  const next = world.recorderOver(world.store);
  next.record(pool, started);
  await next.written();
  expect(await world.events()).toMatchObject([{ count: 2 }]);
});

test("another message, part or object is another event", async () => {
  using world = await scene();
  world.recorder.record(pool, started);
  world.recorder.record(pool, { ...started, message: "another" });
  world.recorder.record({ ...pool, fieldPath: "spec.template" }, started);
  world.recorder.record({ ...pool, uid: "uid-2" }, started);
  expect(await world.events()).toHaveLength(4);
});

describe("an object that makes too many", () => {
  test("gets a few at once, then one every ten seconds, without harm to others", async () => {
    using world = await scene();
    for (let number = 0; number < 100; number++) world.recorder.record(pool, { ...started, message: `event ${number}` });
    expect(await world.events()).toHaveLength(25);
    await world.clock.step(30_000);
    for (let number = 100; number < 200; number++) world.recorder.record(pool, { ...started, message: `event ${number}` });
    expect(await world.events()).toHaveLength(28);
    world.recorder.record({ ...pool, name: "other", uid: "uid-2" }, started);
    expect(await world.events()).toHaveLength(29);
    expect(await world.registry.getSingleMetricAsString("agentbox_events_dropped_total")).toContain("172");
  });
});

test("trouble is told however much went well before", async () => {
  using world = await scene();
  for (let number = 0; number < 100; number++) world.recorder.record(pool, { ...started, message: `event ${number}` });
  world.recorder.record(pool, { type: "Warning", reason: "Failed", message: "no luck" });
  expect((await world.events()).map(({ reason }) => reason)).toContain("Failed");
});

describe("what cannot be written", () => {
  test("is dropped, told in the log, and stops nothing", async () => {
    using world = await scene();
    let refusals = 1;
    const client = new Proxy(world.store, {
      get: (target, property) => {
        if (property !== "create" || refusals-- <= 0) return Reflect.get(target, property, target).bind(target) as unknown;
        return async () => {
          throw new ApiError("InternalError", "the disk is full");
        };
      },
    });
    const recorder = world.recorderOver(client);
    recorder.record(pool, started);
    recorder.record(pool, { ...started, message: "another" });
    await recorder.written();
    expect(await world.events()).toMatchObject([{ message: "another" }]);
    expect(world.logged.lines).toMatchObject([{ msg: "event not written" }]);
  });

  test("because the namespace is gone is no trouble", async () => {
    using world = await scene();
    world.recorder.record({ ...pool, namespace: "gone" }, started);
    expect(await world.events()).toEqual([]);
    expect(world.logged.lines).toEqual([]);
  });
});

test("a message that is too long is cut", async () => {
  using world = await scene();
  world.recorder.record(pool, { ...started, message: "x".repeat(5_000) });
  expect((await world.events())[0]?.message).toHaveLength(1_024);
});
