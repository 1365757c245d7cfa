/** Layers that are wished of pods: the agent over the embedded store, and a taker whose copies and pushes a test lets come or fail. */
import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test } from "vitest";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { type ObjectStore, openObjectStore } from "#engines/embedded/store/object-store.ts";
import { ImageError } from "#images/image-error.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { Namespaces } from "#model/core-kinds.ts";
import { annotationKeys, labelKeys, podConditions } from "#model/keys.ts";
import { layerAnswer, type LayerWish, layerWishText } from "#model/layer-wish.ts";
import type { JsonObject } from "#model/meta.ts";
import { Pods } from "#model/pod.ts";
import { aContainerStatus, pinned } from "../../../../test/world/pool-pods.ts";
import { recordedLog } from "../../../../test/world/recorded-log.ts";
import { settle, SteppedClock } from "../../../../test/world/stepped-clock.ts";
import type { LayerTaker } from "../node-layer/layer-taker.ts";
import { type NodeAgent, startNodeAgent } from "./node-agent.ts";

const digest = `sha256:${"d".repeat(64)}`;

let clock: SteppedClock;
let store: ObjectStore;
let agent: NodeAgent;
let frozen: Set<string>;
/** In order: what stood still, was copied, went on, was pushed. */
let done: string[];
let copying: { readonly wait: Promise<void>; goOn: () => void } | undefined;
let pushing: Promise<void>;
let failure: Error | undefined;

const freezer = {
  freeze: async (group: string) => {
    done.push(`freeze ${group}`);
    frozen.add(group);
  },
  thaw: async (group: string) => {
    done.push(`thaw ${group}`);
    frozen.delete(group);
  },
  isFrozen: (group: string) => frozen.has(group),
};

const layers: LayerTaker = {
  copy: async (containerId, goOn) => {
    done.push(`copy ${containerId}`);
    if (copying !== undefined) {
      copying.goOn = goOn;
      await copying.wait;
      goOn();
    }
    if (failure !== undefined) throw failure;
    return {
      push: async (id, signal) => {
        await pushing;
        signal.throwIfAborted();
        done.push(`push ${id}`);
        return { digest, size: 7, architecture: "amd64" };
      },
      [Symbol.asyncDispose]: async () => void done.push("drop"),
    };
  },
};

beforeEach(async () => {
  clock = new SteppedClock();
  store = openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock });
  [frozen, done, copying, pushing, failure] = [new Set(), [], undefined, Promise.resolve(), undefined];
  await store.create(Namespaces, { metadata: { name: "ns" } });
  agent = await start(layers);
});
afterEach(async () => {
  await agent[Symbol.asyncDispose]();
  store.close();
});

async function start(taker?: LayerTaker): Promise<NodeAgent> {
  const groups = { find: (_uid: string, id: string) => `/groups/${id}` };
  const metrics = prometheusMetrics(new Registry());
  const started = startNodeAgent(
    { client: store, clock, log: recordedLog().log, metrics, freezer, groups, layers: taker },
    { nodeName: "here" },
  );
  await started.started;
  return started;
}

async function run(name: string): Promise<void> {
  const labels = { [labelKeys.sandboxPhase]: "running", [labelKeys.sandboxId]: "i-1", [labelKeys.sandboxPool]: "py" };
  const spec = { nodeName: "here", containers: [{ name: "main", image: pinned("app") }] };
  await store.create(Pods, { metadata: { namespace: "ns", name, labels }, spec });
  const containerStatuses = [aContainerStatus("main", pinned("app"), { containerID: `containerd://${name}` })];
  const body = { status: { phase: "Running", containerStatuses } } as unknown as JsonObject;
  await store.patch(Pods, { namespace: "ns", name }, { type: "merge", body }, { subresource: "status" });
}

const wishOf = (name: string): LayerWish => ({ id: `cp-${name.repeat(20)}`, containerId: name });

async function change(name: string, metadata: JsonObject): Promise<void> {
  await store.patch(Pods, { namespace: "ns", name }, { type: "merge", body: { metadata } });
  await settled();
}

async function wishes(name: string, wish: LayerWish | null = wishOf(name)): Promise<void> {
  await change(name, { annotations: { [annotationKeys.layerWish]: wish && layerWishText(wish) } });
}

async function settled(): Promise<void> {
  await settle();
  await clock.step(200);
}

async function answered(name: string, wish = wishOf(name)) {
  return layerAnswer(await store.get(Pods, { namespace: "ns", name }), wish);
}

test("a pod stands still for the copy alone, and the answer comes when the registry has the layer", async () => {
  const held = Promise.withResolvers<void>();
  pushing = held.promise;
  await run("a");
  await wishes("a");
  expect(done).toEqual(["freeze /groups/a", "copy a", "thaw /groups/a"]);
  expect(await answered("a")).toBeUndefined();
  held.resolve();
  await settled();
  expect(done.slice(3)).toEqual([`push ${wishOf("a").id}`, "drop"]);
  expect(await answered("a")).toMatchObject({ digest, size: 7, architecture: "amd64", frozenMs: expect.any(Number) });
  const { status } = await store.get(Pods, { namespace: "ns", name: "a" });
  expect(
    status?.conditions?.map(({ type }) => type),
    "standing still is no pause",
  ).toEqual([podConditions.layer]);
});

test("an answered wish is not carried out twice, also by the next agent, and its answer goes with it", async () => {
  await run("a");
  await wishes("a");
  const before = done.length;
  await agent[Symbol.asyncDispose]();
  agent = await start(layers);
  await settled();
  expect(done).toHaveLength(before);
  await wishes("a", null);
  expect((await store.get(Pods, { namespace: "ns", name: "a" })).status?.conditions ?? []).toEqual([]);
});

test("a paused pod stays paused", async () => {
  await run("a");
  await change("a", { annotations: { [annotationKeys.paused]: "2026-01-01T00:00:00.000Z" } });
  expect(done.splice(0)).toEqual(["freeze /groups/a"]);
  await wishes("a");
  expect(done).toEqual(["copy a", `push ${wishOf("a").id}`, "drop"]);
  expect([...frozen]).toEqual(["/groups/a"]);
});

test("an end does not wait for the copy: it goes on at once, and nothing is pushed", async () => {
  const held = Promise.withResolvers<void>();
  copying = { wait: held.promise, goOn: () => {} };
  await run("a");
  await wishes("a");
  expect([...frozen]).toEqual(["/groups/a"]);
  await change("a", { labels: { [labelKeys.sandboxPhase]: "stopping" } });
  expect(() => copying?.goOn()).toThrow("does not run any more");
  held.resolve();
  await settled();
  expect([...frozen]).toEqual([]);
  expect(done).toEqual(["freeze /groups/a", "copy a", "thaw /groups/a"]);
});

test("a wish for another container of the pod, or for one that is gone, is refused before anything is copied", async () => {
  await run("a");
  const wish = { id: wishOf("a").id, containerId: "earlier" };
  await wishes("a", wish);
  expect(await answered("a", wish)).toMatchObject({ reason: "SandboxGone" });
  expect(done.filter((one) => one.startsWith("copy"))).toEqual([]);
  expect([...frozen]).toEqual([]);
});

test("what cannot be copied says why, and the sandbox runs on", async () => {
  failure = new ImageError("too_large", "the files are of more than 10 bytes");
  await run("a");
  await wishes("a");
  expect(await answered("a")).toMatchObject({ reason: "TooLarge", why: "the files are of more than 10 bytes" });
  expect([...frozen]).toEqual([]);
});

test("a wish that is taken back ends its push, and another pod's has its turn", async () => {
  const held = Promise.withResolvers<void>();
  pushing = held.promise;
  await run("a");
  await run("b");
  await wishes("a");
  await wishes("b");
  expect(done.filter((one) => one.startsWith("copy"))).toEqual(["copy a"]);
  await wishes("a", null);
  held.resolve();
  await settled();
  expect(done.filter((one) => one.startsWith("push"))).toEqual([`push ${wishOf("b").id}`]);
  expect(await answered("b")).toMatchObject({ digest });
});

test("an agent without a registry says so", async () => {
  await agent[Symbol.asyncDispose]();
  agent = await start();
  await run("a");
  await wishes("a");
  expect(await answered("a")).toMatchObject({ reason: "NotImplemented", why: expect.stringContaining("checkpoints.repository") });
  expect(done).toEqual([]);
});
