import { expect, test } from "vitest";
import { isClaimElsewhere } from "#model/shown-pod.ts";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { Leases } from "#model/core-kinds.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { embeddedPodScene } from "../../../test/world/embedded-scenes.ts";
import { image, type PodScene } from "../../../test/world/pod-scene.ts";
import { settleMs } from "./settle-claim.ts";

const onLeases = { claimsOnLeases: true };
const waitingImage = { images: { main: image("idle") } };

/** What people and policies see: they do not read Leases. */
function raw(scene: PodScene): Promise<Pod> {
  return scene.client.get(Pods, scene.key);
}

test("a sandbox that lives on is on its pod after a while, once, and the Lease has nothing more to say", async () => {
  await using world = await embeddedPodScene(onLeases);
  const { scene, clock } = world;
  const before = await raw(scene);
  const claimed = await scene.claim({ ...waitingImage, idleTimeoutMs: 60_000 });
  expect(await scene.reconcile()).toEqual({ afterMs: settleMs });
  await clock.step(settleMs - 1);
  expect(await scene.reconcile()).toEqual({ afterMs: 1 });
  expect(await raw(scene)).toEqual(before);
  await clock.step(1);
  expect(await scene.reconcile()).toBeUndefined();
  const settled = await raw(scene);
  expect([settled.metadata.labels, settled.metadata.annotations]).toEqual([claimed.metadata.labels, claimed.metadata.annotations]);
  expect(settled.metadata.labels).toMatchObject({
    [labelKeys.sandboxPhase]: "running",
    [labelKeys.sandboxId]: "i1",
    [labelKeys.user]: "ann",
  });
  expect(settled.metadata.generation).toBe(before.metadata.generation);
  expect(isClaimElsewhere(await scene.pod())).toBe(false);
  expect(await scene.reconcile()).toBeUndefined();
  expect((await raw(scene)).metadata.resourceVersion).toBe(settled.metadata.resourceVersion);
});

test("a sandbox that ends before costs its pod no write but that of its end, which says all of it", async () => {
  await using world = await embeddedPodScene(onLeases);
  const { scene } = world;
  await scene.claim(waitingImage);
  await scene.reconcile();
  await scene.release();
  const ended = await raw(scene);
  expect([sandboxPhaseOf(ended), sandboxIdOf(ended), ended.metadata.labels?.[labelKeys.team]]).toEqual(["stopping", "i1", "red"]);
  await scene.nodeReports();
  scene.answer = {};
  await scene.reconcile();
  expect(await scene.record()).toMatchObject({ sandboxId: "i1", status: "Completed", team: "red", user: "ann" });
  const idle = await scene.pod();
  expect([sandboxPhaseOf(idle), sandboxIdOf(idle), isClaimElsewhere(idle)]).toEqual(["idle", undefined, false]);
  expect((await scene.client.get(Leases, scene.key)).spec?.holderIdentity).toBe("i1");
});

test.each([
  ["of a process whose clock is ahead", "2026-01-01T05:00:00Z", { afterMs: settleMs }],
  ["whose time cannot be read", "soon", undefined],
])("a claim %s waits no longer than others", async (_, claimedAt, wanted) => {
  await using world = await embeddedPodScene(onLeases);
  const { scene } = world;
  await scene.claim(waitingImage);
  const annotations = { [annotationKeys.claimedAt]: claimedAt };
  await scene.client.patch(Leases, scene.key, { type: "merge", body: { metadata: { annotations } } });
  await scene.pod();
  expect(await scene.reconcile()).toEqual(wanted);
  expect(sandboxPhaseOf(await raw(scene))).toBe(wanted === undefined ? "running" : "idle");
});

test("a claim whose pod has changed meanwhile is left to the next look", async () => {
  await using world = await embeddedPodScene(onLeases);
  const { scene, clock } = world;
  const claimed = await scene.claim(waitingImage);
  await clock.step(settleMs);
  await scene.cache.stop();
  const late = {
    ...scene.deps,
    cache: Object.create(scene.cache, { pods: { value: { objects: { get: () => claimed } } } }) as typeof scene.cache,
  };
  const reported = await scene.nodeReports({ message: "hello" });
  expect(await scene.reconcile(late)).toBeUndefined();
  expect((await raw(scene)).metadata.resourceVersion).toBe(reported.metadata.resourceVersion);
  expect(await scene.reconcile()).toBeUndefined();
  expect(await raw(scene)).toMatchObject({ metadata: { labels: { [labelKeys.sandboxId]: "i1" } }, status: { message: "hello" } });
});

test("a claim that must come to its pod at once does not wait for that", async () => {
  await using world = await embeddedPodScene(onLeases);
  const { scene } = world;
  const claimed = await scene.claim({ ...waitingImage, labels: { "example.com/job": "j1" } });
  expect(isClaimElsewhere(claimed)).toBe(false);
  expect((await raw(scene)).metadata.labels).toMatchObject({ "example.com/job": "j1", [labelKeys.sandboxPhase]: "running" });
  expect(await scene.reconcile()).toBeUndefined();
});

test("a container that was restarted ends a sandbox whose claim is still on the Lease", async () => {
  await using world = await embeddedPodScene(onLeases);
  const { scene, clock } = world;
  await scene.claim(waitingImage);
  await clock.step(settleMs);
  await scene.nodeRestarts("OOMKilled", 137);
  await scene.reconcile();
  expect([sandboxPhaseOf(await raw(scene)), sandboxIdOf(await raw(scene))]).toEqual(["stopping", "i1"]);
  await scene.reconcile();
  expect(await scene.record()).toMatchObject({ status: "Failed", failureReason: "OOMKilled", exitCode: 137 });
});
