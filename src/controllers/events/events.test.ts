/** Events from pods to a receiver, over SQLite and in stepped time. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { sleep } from "#lib/clock.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { annotationKeys, labelKeys, podConditions } from "#model/keys.ts";
import type { SandboxEvent } from "#model/sandbox-event.ts";
import type { Webhook } from "#sandbox/events/webhook.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { openSqliteHistory } from "#store/sqlite/store.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { ServiceScene } from "../../../test/world/service-scene.ts";
import { settle, SteppedClock } from "../../../test/world/stepped-clock.ts";
import { Deliverer } from "./deliverer.ts";
import { LifecycleRecorder } from "./lifecycle-recorder.ts";

const hour = 3_600_000;
const webhook: Webhook = {
  id: "hook",
  team: "",
  name: "all",
  url: "https://hooks.test/",
  enabled: true,
  events: ["created", "updated", "paused", "resumed", "killed"],
  createdAt: "",
  secret: "s",
};

/** A receiver that is there or not, and what it took. */
class Receiver {
  isUp = true;
  readonly taken: SandboxEvent[] = [];
  tries = 0;

  typesOf(sandboxId: string): readonly string[] {
    return this.taken.filter((event) => event.sandboxId === sandboxId).map(({ type }) => type);
  }
}

function deliverer(history: HistoryStore, clock: SteppedClock, receiver: Receiver): Deliverer {
  return new Deliverer({
    events: history.events,
    webhooks: async () => [webhook],
    send: async (_, { event }) => {
      receiver.tries++;
      if (!receiver.isUp) return { kind: "refused", why: "down" };
      receiver.taken.push(event);
      return { kind: "accepted" };
    },
    clock,
    log: recordedLog().log,
    metrics: prometheusMetrics(new Registry()),
    random: () => 0.5,
  });
}

const anEvent = (sandboxId: string, type: SandboxEvent["type"], n: number): SandboxEvent => ({
  id: `${sandboxId} ${type} ${n}`,
  sandboxId,
  type,
  at: new Date(Date.parse("2026-01-01T00:00:00Z") + n).toISOString(),
  team: "red",
  user: "",
  template: "base",
  data: null,
});

async function stepped(clock: SteppedClock, ms: number, step: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += step) await clock.step(step);
}

test("a receiver that is down for an hour has every event then, in order for each sandbox, though the server was killed meanwhile", async () => {
  const folder = mkdtempSync(join(tmpdir(), "agentbox-events-"));
  const file = join(folder, "history.db");
  const clock = new SteppedClock();
  const receiver = new Receiver();
  let history = await openSqliteHistory({ file, clock, durability: "process-crash" });
  let running = deliverer(history, clock, receiver);
  receiver.isUp = false;
  const types = ["created", "updated", "paused", "resumed", "killed"] as const;
  for (const [n, type] of types.entries()) {
    for (const id of ["a", "b", "c"]) await history.events.append(anEvent(id, type, n), ["hook"]);
    await stepped(clock, 10 * 60_000, 30_000);
    if (n !== 2) continue;
    await running[Symbol.asyncDispose]();
    await history.close();
    history = await openSqliteHistory({ file, clock, durability: "process-crash" });
    running = deliverer(history, clock, receiver);
  }
  expect(receiver.taken).toEqual([]);
  expect(receiver.tries).toBeGreaterThan(3);
  // Only the oldest of each sandbox is tried, later each time.
  expect(receiver.tries).toBeLessThan(200);
  receiver.isUp = true;
  await stepped(clock, 15 * 60_000, 5000);
  for (const id of ["a", "b", "c"]) expect(receiver.typesOf(id)).toEqual(types);
  expect(await history.events.undelivered("hook", 10)).toEqual([]);
  await running[Symbol.asyncDispose]();
  await history.close();
  rmSync(folder, { recursive: true });
});

test("an event that is refused for three days is given up, stays visible, and lets the next of its sandbox pass", async () => {
  const clock = new SteppedClock();
  const receiver = new Receiver();
  const history = await openSqliteHistory({ file: ":memory:", clock, durability: "process-crash" });
  await using running = deliverer(history, clock, receiver);
  receiver.isUp = false;
  await history.events.append({ ...anEvent("a", "created", 0), at: new Date(clock.now()).toISOString() }, ["hook"]);
  await stepped(clock, 73 * hour, 10 * 60_000);
  expect(await history.events.undelivered("hook", 10)).toMatchObject([{ state: "dead", lastError: "down" }]);
  receiver.isUp = true;
  await history.events.append(anEvent("a", "killed", 1), ["hook"]);
  running.wake(["hook"]);
  await stepped(clock, 5000, 1000);
  expect(receiver.typesOf("a")).toEqual(["killed"]);
});

test("a receiver that answers slowly holds up only its own team, however much waits for it", async () => {
  const clock = new SteppedClock();
  const history = await openSqliteHistory({ file: ":memory:", clock, durability: "process-crash" });
  for (let n = 0; n < 200; n++) await history.events.append(anEvent(`slow-${n}`, "created", n), ["slow 1", "slow 2"]);
  await history.events.append({ ...anEvent("quick", "created", 0), team: "blue" }, ["quick"]);
  const of = (id: string, team: string): Webhook => ({ ...webhook, id, team });
  const taken: string[] = [];
  let [slow, mostSlow] = [0, 0];
  await using _ = new Deliverer({
    events: history.events,
    webhooks: async () => [of("slow 1", "red"), of("slow 2", "red"), of("quick", "blue")],
    send: async ({ id, team }, _event, signal) => {
      if (team === "blue") {
        taken.push(id);
        return { kind: "accepted" };
      }
      mostSlow = Math.max(mostSlow, ++slow);
      await sleep(clock, 10_000, signal).catch(() => {});
      slow -= 1;
      return { kind: "refused", why: "slow" };
    },
    clock,
    log: recordedLog().log,
    metrics: prometheusMetrics(new Registry()),
    random: () => 0.5,
  });
  await stepped(clock, 1000, 100);
  expect(taken).toEqual(["quick"]);
  expect(mostSlow).toBe(8);
});

test("what comes while a webhook is looked at is delivered at once", async () => {
  const clock = new SteppedClock();
  const receiver = new Receiver();
  const history = await openSqliteHistory({ file: ":memory:", clock, durability: "process-crash" });
  const { events } = history;
  let isFirst = true;
  const meddled = Object.assign(Object.create(events) as typeof events, {
    nextDueMs: async (...args: Parameters<typeof events.nextDueMs>) => {
      const next = await events.nextDueMs(...args);
      if (!isFirst) return next;
      isFirst = false;
      await events.append(anEvent("a", "created", 0), ["hook"]);
      running.wake(["hook"]);
      return next;
    },
    due: (...args: Parameters<typeof events.due>) => events.due(...args),
    delivered: (id: number) => events.delivered(id),
  });
  await using running = deliverer({ ...history, events: meddled }, clock, receiver);
  await stepped(clock, 2000, 100);
  expect(receiver.typesOf("a")).toEqual(["created"]);
});

test("a receiver that refuses at once is asked eight times a second at most, whatever waits for it", async () => {
  const clock = new SteppedClock();
  const receiver = new Receiver();
  receiver.isUp = false;
  const history = await openSqliteHistory({ file: ":memory:", clock, durability: "process-crash" });
  for (let n = 0; n < 300; n++) await history.events.append(anEvent(`s-${n}`, "created", n), ["hook"]);
  await using _ = deliverer(history, clock, receiver);
  await stepped(clock, 10_000, 100);
  expect(receiver.tries).toBeGreaterThan(60);
  expect(receiver.tries).toBeLessThanOrEqual(100);
});

async function recordedScene() {
  const scene = await ServiceScene.open();
  const history = await openSqliteHistory({ file: ":memory:", clock: scene.clock, durability: "process-crash" });
  const record = { events: history.events, get: (id: string) => scene.history.get(id, { kind: "admin" }) };
  const start = () =>
    new LifecycleRecorder({
      cache: scene.cache,
      history: record,
      webhooks: async () => [],
      onStored: () => {},
      clock: scene.clock,
      log: recordedLog().log,
    });
  const typesOf = async (sandboxId: string) => (await history.events.newestOf(sandboxId, 50)).map(({ type }) => type).toReversed();
  return { scene, history, start, typesOf };
}

const started = { [annotationKeys.startedAt]: "2026-01-01T00:00:00.000Z" };
const frozen = { conditions: [{ type: podConditions.paused, status: "True" as const }] };

test("what happens to a sandbox is noted as it happens", async () => {
  const { scene, start, typesOf } = await recordedScene();
  await using _ = scene;
  const recorder = start();
  await scene.sandbox("i-1", { annotations: started });
  await settle();
  expect(await typesOf("i-1")).toEqual(["created"]);
  await scene.change("i-1", { annotations: { [annotationKeys.paused]: scene.now } });
  await scene.report("i-1", frozen);
  await scene.change("i-1", { annotations: { [annotationKeys.paused]: null } });
  await scene.report("i-1", { conditions: [] });
  await scene.change("i-1", { labels: { [labelKeys.sandboxPhase]: "stopping" } });
  await settle();
  expect(await typesOf("i-1")).toEqual(["created", "paused", "resumed", "killed"]);
  await recorder[Symbol.asyncDispose]();
});

test("a sandbox that changes all the time does not keep others from being told", async () => {
  const { scene, history } = await recordedScene();
  await using _ = scene;
  await scene.sandbox("busy", { annotations: started });
  const told: string[] = [];
  const events = new Proxy(history.events, {
    get: (target, name) => {
      if (name !== "append") return (Reflect.get(target, name, target) as () => unknown).bind(target);
      return async (event: SandboxEvent, webhooks: readonly string[]) => {
        told.push(event.sandboxId);
        if (event.sandboxId === "busy" && told.length < 30) {
          const endTime = new Date(Date.parse("2027-01-01T00:00:00Z") + told.length * 1000).toISOString();
          await scene.change("busy", { annotations: { [annotationKeys.endTime]: endTime } });
        }
        if (told.length === 1) await scene.sandbox("other", { annotations: started });
        await target.append(event, webhooks);
      };
    },
  });
  const deps = { cache: scene.cache, webhooks: async () => [], onStored: () => {}, clock: scene.clock, log: recordedLog().log };
  const recorder = new LifecycleRecorder({ ...deps, history: { events, get: async () => undefined } });
  await settle();
  await recorder[Symbol.asyncDispose]();
  expect(told.indexOf("other")).toBeGreaterThan(0);
  expect(told.indexOf("other")).toBeLessThan(5);
});

test("what happened while no process looked is noted by the next, also the end of a sandbox whose pod is gone", async () => {
  const { scene, start, typesOf } = await recordedScene();
  await using _ = scene;
  const first = start();
  await scene.sandbox("i-1", { annotations: started });
  await scene.sandbox("i-2", { annotations: started });
  await settle();
  await first[Symbol.asyncDispose]();
  await scene.change("i-1", { annotations: { [annotationKeys.paused]: scene.now } });
  await scene.report("i-1", frozen);
  await scene.record("i-3");
  const recorder = start();
  await scene.clock.step(31_000);
  await settle();
  expect(await typesOf("i-1")).toEqual(["created", "paused"]);
  expect(await typesOf("i-2")).toEqual(["created"]);
  expect(await typesOf("i-3")).toEqual([]);
  await recorder[Symbol.asyncDispose]();
});
