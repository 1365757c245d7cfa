import { expect, test } from "vitest";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { Pods, type Pod } from "#model/pod.ts";
import { SteppedClock } from "../../../../test/world/stepped-clock.ts";
import { openObjectStore, type ObjectStore } from "./object-store.ts";

const key = { namespace: "default", name: "p" };
const pod: Pod = { metadata: key, spec: { containers: [{ name: "main", image: "host" }] } };

function aStore(): ObjectStore {
  return openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock: new SteppedClock() });
}

test("a pod is bound to a node once, and says so in its status", async () => {
  using store = aStore();
  await store.create(Pods, pod);
  await store.bind(key, "node-1");
  const bound = await store.get(Pods, key);
  expect(bound.spec.nodeName).toBe("node-1");
  expect(bound.status?.conditions).toEqual([
    { type: "PodScheduled", status: "True", lastProbeTime: null, lastTransitionTime: "2026-01-01T00:00:00Z" },
  ]);
  expect(bound.metadata.generation).toBe(1);
  await expect(store.bind(key, "node-2")).rejects.toMatchObject({
    reason: "Conflict",
    message: expect.stringContaining('pod p is already assigned to node "node-1"') as string,
  });
});

test("a pod that is not there cannot be bound", async () => {
  using store = aStore();
  await expect(store.bind(key, "node-1")).rejects.toMatchObject({ reason: "NotFound" });
});

test("a pod that is being deleted cannot be bound", async () => {
  using store = aStore();
  await store.create(Pods, { ...pod, metadata: { ...key, finalizers: ["example.com/hold"] } });
  await store.delete(Pods, key);
  await expect(store.bind(key, "node-1")).rejects.toMatchObject({ reason: "Conflict" });
});
