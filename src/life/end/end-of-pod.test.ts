/** The end of pods whose claims stand on Leases; all that is the same for both is in reconcile-pod.test.ts. */
import { describe, expect, test } from "vitest";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { writeClaim } from "#life/claim/write-claim.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import { Leases } from "#model/core-kinds.ts";
import { annotationKeys } from "#model/keys.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { planClaim } from "#life/claim/plan-claim.ts";
import { embeddedPodScene } from "../../../test/world/embedded-scenes.ts";
import { image, type PodScene } from "../../../test/world/pod-scene.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { deleteRecorded } from "./end-of-pod.ts";
import { asClaimsOnLeases, claimBook } from "../../../test/world/claim-books.ts";

const onLeases = { claimsOnLeases: true };
const images = { main: image("idle") };
const { signal } = new AbortController();

/** A claim by another process, of which the controllers hear nothing: their watches are at an end. */
async function claimedUnheard(scene: PodScene, pod: Pod): Promise<void> {
  const { client, clock, namespace } = scene;
  await scene.cache.stop();
  const cache = new SandboxCache({ client, clock, log: recordedLog().log }, { namespace, claims: claimBook(true) });
  const plan = planClaim(pod, { sandboxId: "i1", team: "red", user: "ann", images }, clock.now());
  if (plan.kind === "refused") throw new Error(plan.message);
  await writeClaim({ client, cache }, pod, plan);
}

describe("a pod that somebody deletes", () => {
  test("W9: whose claim stands on its Lease leaves its record, and both are gone", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene, clock } = world;
    await scene.claim({ images });
    await scene.delete();
    await scene.reconcile();
    expect(await scene.record()).toMatchObject({ status: "Failed", failureReason: "PodDeleted", team: "red", user: "ann" });
    expect(await scene.isGone()).toBe(true);
    await clock.step(60_000);
    expect((await scene.client.list(Leases, { namespace: scene.namespace })).items).toEqual([]);
  });

  test("is closed to claims before it is let go", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const idle = await scene.pod();
    await scene.delete();
    await scene.reconcile();
    expect([await scene.isGone(), scene.puts]).toEqual([true, 0]);
    await expect(claimedUnheard(scene, idle)).rejects.toMatchObject({ reason: "Conflict" });
  });

  test("W9: that was claimed before, unheard, is not let go until its sandbox is recorded", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const idle = await scene.pod();
    await claimedUnheard(scene, idle);
    await scene.client.delete(Pods, scene.key);
    scene.cache.pods.remember(await scene.client.get(Pods, scene.key));
    await scene.reconcile();
    expect([await scene.isGone(), scene.puts]).toEqual([false, 0]);
    // By now they have heard of it.
    await scene.reconcile();
    expect(await scene.record()).toMatchObject({ status: "Failed", failureReason: "PodDeleted" });
    expect(await scene.isGone()).toBe(true);
  });
});

describe("an idle pod that is to be replaced", () => {
  test("is closed to claims, then deleted", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    await deleteRecorded(scene.deps, await scene.pod(), signal);
    const { deletionTimestamp, annotations } = (await scene.pod()).metadata;
    expect([deletionTimestamp, annotations?.[annotationKeys.leaving]]).toEqual([expect.any(String), expect.any(String)]);
  });

  test("I4: stays when it was claimed, unheard", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const idle = await scene.pod();
    await claimedUnheard(scene, idle);
    await deleteRecorded(scene.deps, idle, signal);
    const pod = await scene.pod();
    expect([pod.metadata.deletionTimestamp, sandboxIdOf(pod)]).toEqual([undefined, "i1"]);
  });

  test("is closed and not deleted when it has changed meanwhile, and goes with the next try", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const idle = await scene.pod();
    await scene.nodeReports({ message: "hello" });
    await deleteRecorded(scene.deps, idle, signal);
    const closed = await scene.pod();
    expect([closed.metadata.deletionTimestamp, closed.metadata.annotations?.[annotationKeys.leaving]]).toEqual([
      undefined,
      expect.any(String),
    ]);
    await deleteRecorded(scene.deps, closed, signal);
    expect((await scene.pod()).metadata.deletionTimestamp).toBeDefined();
  });
});

test.each(["was deleted", "has failed"])(
  "I3: a claim beside a pod that %s and is gone, unheard, is no sandbox and not recorded",
  async (how) => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const idle = await scene.pod();
    await scene.cache.stop();
    if (how === "was deleted") await scene.client.delete(Pods, scene.key);
    else await scene.nodeReports({ phase: "Failed", reason: "Evicted" });
    scene.cache.pods.remember(await scene.client.get(Pods, scene.key));
    await scene.client.delete(Pods, scene.key, { gracePeriodSeconds: 0 });
    await scene.client.patch(Pods, scene.key, { type: "merge", body: { metadata: { finalizers: null } } });
    await claimedUnheard(scene, idle);
    await asClaimsOnLeases(scene.cache.claims).readLease(scene.client, scene.key);
    expect(scene.cache.podsOfSandbox("i1").toArray()).toHaveLength(1);
    await scene.reconcile();
    expect(scene.puts).toBe(0);
  },
);
