/** Ends of many sandboxes at once, and the recycling of their pods: claims and controllers together, on one node. */
import { expect, test } from "vitest";
import { isResting, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { podConditions } from "#model/keys.ts";
import type { JsonObject } from "#model/meta.ts";
import { type Pod, type PodCondition, Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { addressOf, ann, type ClaimProcess, type ClaimScene } from "../../../test/world/claim-scene.ts";
import { embeddedClaimScene } from "../../../test/world/embedded-scenes.ts";
import { meddled } from "../../../test/world/meddled-writes.ts";
import type { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { usualRecyclePace } from "./plan-recycle-starts.ts";

const many = 10;

async function createAll(process: ClaimProcess, count = many): Promise<readonly string[]> {
  return Promise.all(Array.from({ length: count }, async () => (await process.create()).sandbox.sandboxId));
}

function numberOf(pod: Pod): number {
  return Number((pod.metadata.name ?? "").replace("py-", ""));
}

function isRetired(scene: ClaimScene, pod: Pod): boolean {
  return scene.daemons.at(addressOf(numberOf(pod)))?.isRetired === true;
}

function isRecycling(pod: Pod): boolean {
  return sandboxPhaseOf(pod) === "stopping" && !isResting(pod);
}

/** The node brings up what it was told to exchange. Says how many that were. */
async function nodeWorks(scene: ClaimScene, clock: SteppedClock): Promise<number> {
  const recycling = (await scene.pods()).filter(isRecycling);
  for (const pod of recycling) {
    await scene.nodeStarts(numberOf(pod));
    await scene.nodeReports(numberOf(pod));
  }
  await clock.step(1_000);
  return recycling.length;
}

test("of many sandboxes that end at once two pods get new containers at once; the others rest, and nothing of their sandboxes runs", async () => {
  await using world = await embeddedClaimScene({ pods: many });
  const { scene } = world;
  const process = await scene.process();
  const ids = await createAll(process);
  await Promise.all(ids.map((id) => process.claims.end(ann, id)));
  const pods = await scene.pods();
  expect(pods.map(sandboxPhaseOf)).toEqual(Array(many).fill("stopping"));
  expect(pods.filter(isRecycling)).toHaveLength(2);
  expect(pods.filter(isResting).map((pod) => isRetired(scene, pod))).toEqual(Array(many - 2).fill(true));
});

test("a sandbox whose daemon cannot end it loses its container at once, however much its node has to do", async () => {
  await using world = await embeddedClaimScene({ pods: 4 });
  const { scene } = world;
  const process = await scene.process();
  const ids = await createAll(process, 4);
  scene.daemons.fail("retire", "refused", "unreachable", "unreachable");
  for (const id of ids) await process.claims.end(ann, id);
  expect((await scene.pods()).filter(isRecycling)).toHaveLength(4);
});

test("an order to end a sandbox whose answer is lost is given once more before its container goes", async () => {
  await using world = await embeddedClaimScene({ pods: 4 });
  const { scene } = world;
  const process = await scene.process();
  const ids = await createAll(process, 4);
  scene.daemons.fail("retire", "unreachable");
  for (const id of ids) await process.claims.end(ann, id);
  expect((await scene.pods()).filter(isResting)).toHaveLength(2);
});

test("pods that rest are recycled a few at a time, until all of them wait for the next sandbox", async () => {
  await using world = await embeddedClaimScene({ pods: many });
  const { scene, clock } = world;
  const process = await scene.process();
  scene.startControllers(process);
  const ids = await createAll(process);
  await Promise.all(ids.map((id) => process.claims.end(ann, id)));
  // Nothing is idle, so no recycling is held back beyond what a node can bear.
  await clock.step(1_000);
  const atOnce: number[] = [];
  for (let round = 0; round < many; round++) atOnce.push(await nodeWorks(scene, clock));
  expect(Math.max(...atOnce)).toBeLessThanOrEqual(usualRecyclePace.mostAtOnce);
  const pods = await scene.pods();
  expect([pods.map(sandboxPhaseOf), pods.map(sandboxIdOf)]).toEqual([Array(many).fill("idle"), Array(many).fill(undefined)]);
  for (const id of ids) expect(await scene.history.get(id, { kind: "admin" })).toMatchObject({ status: "Completed" });
});

test("I7: a sandbox whose process died after its end was written, and before it was retired, is retired by the controllers", async () => {
  await using world = await embeddedClaimScene({ pods: 12 });
  const { scene, clock } = world;
  const never = (): Promise<never> => new Promise(() => {});
  const { daemons } = scene;
  const { client, meddling } = meddled(scene.client);
  const health: typeof daemons.health = (...asked) => daemons.health(...asked);
  const init: typeof daemons.init = (...asked) => daemons.init(...asked);
  const died = await scene.process({ client, daemons: { health, init, retire: never } });
  const ids = await createAll(died, 8);
  for (const id of ids) void died.claims.end(ann, id);
  await clock.step(10);
  meddling.patch = never;
  await died.cache.stop();
  expect((await scene.pods()).filter(isResting).some((pod) => isRetired(scene, pod))).toBe(false);

  // The node brings nothing up, so some of them go on resting.
  scene.startControllers(await scene.process());
  await clock.step(20_000);
  const resting = (await scene.pods()).filter(isResting);
  expect(resting.map((pod) => isRetired(scene, pod))).toEqual([true, true, true, true]);
});

test("the word of a node that has frozen what rests is enough: its daemon, which cannot answer, is not asked and the pod goes on resting", async () => {
  await using world = await embeddedClaimScene({ pods: 12 });
  const { scene, clock } = world;
  const resting = await restingPods(scene, 8);
  for (const pod of resting) await reportsRest(scene, pod, { status: "True", reason: "Frozen" });
  scene.daemons.fail("retire", ...Array<"unreachable">(100).fill("unreachable"));
  scene.startControllers(await scene.process());
  await clock.step(10_000);
  // The node brings nothing up, so only as many are recycled as it is given at once.
  expect((await scene.pods()).filter(isResting)).toHaveLength(4);
});

test("a pod that its node cannot freeze is recycled at once, whatever its daemon says", async () => {
  await using world = await embeddedClaimScene({ pods: 12 });
  const { scene, clock } = world;
  const resting = await restingPods(scene, 8);
  for (const pod of resting) await reportsRest(scene, pod, { status: "False", reason: "FreezeFailed" });
  scene.startControllers(await scene.process());
  await clock.step(10);
  expect((await scene.pods()).filter(isResting)).toEqual([]);
});

async function restingPods(scene: ClaimScene, count: number): Promise<readonly Pod[]> {
  const process = await scene.process();
  const ids = await createAll(process, count);
  await Promise.all(ids.map((id) => process.claims.end(ann, id)));
  return (await scene.pods()).filter(isResting);
}

async function reportsRest(scene: ClaimScene, pod: Pod, answer: { readonly status: string; readonly reason: string }): Promise<void> {
  const conditions = [...(pod.status?.conditions ?? []), { type: podConditions.atRest, ...answer }] as readonly PodCondition[];
  const { namespace, name = "" } = pod.metadata;
  const body = { status: { conditions } } as unknown as JsonObject;
  await scene.client.patch(Pods, { namespace, name }, { type: "merge", body }, { subresource: "status" });
}

test("a pod that became outdated while it rested is replaced instead of recycled", async () => {
  await using world = await embeddedClaimScene({ pods: many });
  const { scene, clock } = world;
  const process = await scene.process();
  const ids = await createAll(process, 8);
  await Promise.all(ids.map((id) => process.claims.end(ann, id)));
  const resting = (await scene.pods()).filter(isResting).map(({ metadata }) => metadata.uid);
  expect(resting).not.toEqual([]);
  const template = { spec: { containers: [{ name: "main", image: "registry.invalid/app:1", env: [{ name: "NEW", value: "1" }] }] } };
  await scene.client.patch(SandboxPools, { namespace: "ns", name: "py" }, { type: "merge", body: { spec: { template } } });
  scene.startControllers(process);
  for (let round = 0; round < many; round++) await nodeWorks(scene, clock);
  const there = new Set((await scene.pods()).map(({ metadata }) => metadata.uid));
  expect(resting.filter((uid) => there.has(uid))).toEqual([]);
});
