import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test } from "vitest";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { type ObjectStore, openObjectStore } from "#engines/embedded/store/object-store.ts";
import type { Freezer } from "#lib/cgroups/freezer.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { Namespaces } from "#model/core-kinds.ts";
import { annotationKeys, labelKeys, podConditions } from "#model/keys.ts";
import type { JsonObject } from "#model/meta.ts";
import { type PodCondition, Pods } from "#model/pod.ts";
import { aContainerStatus, pinned } from "../../../../test/world/pool-pods.ts";
import { recordedLog } from "../../../../test/world/recorded-log.ts";
import { settle, SteppedClock } from "../../../../test/world/stepped-clock.ts";
import { type NodeAgent, startNodeAgent } from "./node-agent.ts";

const wish = "2026-01-01T00:00:00.000Z";

let clock: SteppedClock;
let store: ObjectStore;
let agent: NodeAgent;
/** Groups that stand, and what was done in order. */
let frozen: Set<string>;
let done: string[];
let failing: string | undefined;

const freezer: Freezer = {
  freeze: async (group) => {
    if (failing !== undefined) throw new Error(failing);
    done.push(`freeze ${group}`);
    frozen.add(group);
  },
  thaw: async (group) => {
    done.push(`thaw ${group}`);
    frozen.delete(group);
  },
  isFrozen: (group) => frozen.has(group),
};
const groups = { find: (_uid: string, id: string) => (id.includes("nowhere") ? undefined : `/groups/${id}`) };

beforeEach(async () => {
  clock = new SteppedClock();
  store = openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock });
  [frozen, done, failing] = [new Set(), [], undefined];
  await store.create(Namespaces, { metadata: { name: "ns" } });
  agent = await start();
});
afterEach(async () => {
  await agent[Symbol.asyncDispose]();
  store.close();
});

async function start(): Promise<NodeAgent> {
  const deps = { client: store, clock, log: recordedLog().log, metrics: prometheusMetrics(new Registry()), freezer, groups };
  const started = startNodeAgent(deps, { nodeName: "here" });
  await started.started;
  return started;
}

async function run(
  name: string,
  { id = name, nodeName = "here", pool = { [labelKeys.sandboxPool]: "py" } }: { id?: string; nodeName?: string; pool?: object } = {},
) {
  const own = { [labelKeys.sandboxPhase]: "running", [labelKeys.sandboxId]: "i-1", ...pool };
  const pod = {
    metadata: { namespace: "ns", name, labels: own },
    spec: { nodeName, containers: [{ name: "main", image: pinned("app") }] },
  };
  await store.create(Pods, pod);
  await report(name, id);
}

async function report(name: string, id: string): Promise<void> {
  const containerStatuses = [aContainerStatus("main", pinned("app"), { containerID: `containerd://${id}` })];
  const body = {
    status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }], containerStatuses },
  } as unknown as JsonObject;
  await store.patch(Pods, { namespace: "ns", name }, { type: "merge", body }, { subresource: "status" });
}

async function wishes(name: string, value: string | null, more: JsonObject = {}): Promise<void> {
  const body = { metadata: { annotations: { [annotationKeys.paused]: value }, ...more } };
  await store.patch(Pods, { namespace: "ns", name }, { type: "merge", body });
  await settle();
  await clock.step(1);
}

async function paused(name: string): Promise<PodCondition | undefined> {
  const { status } = await store.get(Pods, { namespace: "ns", name });
  return status?.conditions?.find(({ type }) => type === podConditions.paused);
}

test("a sandbox is frozen when it is wished, says so, and goes on when the wish is gone", async () => {
  await run("a");
  await wishes("a", wish);
  expect([...frozen]).toEqual(["/groups/a"]);
  expect(await paused("a")).toMatchObject({ status: "True", reason: "Frozen" });
  await wishes("a", null);
  expect([...frozen]).toEqual([]);
  expect(await paused("a")).toBeUndefined();
  expect(done).toEqual(["freeze /groups/a", "thaw /groups/a"]);
});

test("pods of other nodes, and pods that are none of ours, are left alone", async () => {
  await run("far", { nodeName: "there" });
  await run("strange", { pool: {} });
  await wishes("far", wish);
  await wishes("strange", wish);
  expect(done).toEqual([]);
});

test("one that is released goes on before its container is ended", async () => {
  await run("a");
  await wishes("a", wish);
  await wishes("a", wish, { labels: { [labelKeys.sandboxPhase]: "stopping" } });
  expect([...frozen]).toEqual([]);
});

test("one whose container is another one by now is frozen again, and nothing of it stays frozen when it goes", async () => {
  await run("a", { id: "first" });
  await wishes("a", wish);
  await report("a", "second");
  await settle();
  await clock.step(1);
  expect([...frozen].sort()).toEqual(["/groups/first", "/groups/second"]);
  await store.delete(Pods, { namespace: "ns", name: "a" }, { gracePeriodSeconds: 0 });
  await settle();
  await clock.step(1);
  expect([...frozen]).toEqual([]);
});

test("what cannot be frozen is told once, and is tried again for another wish only, also by the next agent", async () => {
  failing = "some process of it does not come to a stand";
  await run("a");
  await wishes("a", wish);
  const answer = { status: "False", reason: "FreezeFailed", message: `${wish}: some process of it does not come to a stand` };
  expect(await paused("a")).toMatchObject(answer);
  failing = undefined;
  await agent[Symbol.asyncDispose]();
  agent = await start();
  await settle();
  expect(await paused("a")).toMatchObject(answer);
  expect([...frozen]).toEqual([]);
  await wishes("a", "2026-01-01T00:01:00.000Z");
  expect(await paused("a")).toMatchObject({ status: "True" });
});

test("a container without a group of its own cannot be frozen, and none of the others is", async () => {
  await run("a", { id: "nowhere" });
  await wishes("a", wish);
  expect(await paused("a")).toMatchObject({ status: "False", message: expect.stringContaining("no control group") });
});

test("an agent that ends leaves what is frozen, and the next one goes on where it was", async () => {
  await run("a");
  await run("b");
  await wishes("a", wish);
  await wishes("b", wish);
  await agent[Symbol.asyncDispose]();
  expect([...frozen].sort()).toEqual(["/groups/a", "/groups/b"]);
  await wishes("b", null);
  expect(await paused("b")).toMatchObject({ status: "True" });
  agent = await start();
  await settle();
  await clock.step(1);
  expect([...frozen]).toEqual(["/groups/a"]);
  expect([await paused("a"), await paused("b")]).toMatchObject([{ status: "True" }, undefined]);
});
