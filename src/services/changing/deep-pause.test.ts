import { expect, test } from "vitest";
import { Checkpoints } from "#model/checkpoint.ts";
import { CheckpointRefused } from "#engine-port/checkpoint-images.ts";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import { countSandboxes } from "#services/limits/count-use.ts";
import { addressOf, ann } from "../../../test/world/claim-scene.ts";
import { DeepPauseScene } from "../../../test/world/deep-pause-scene.ts";
import { failureOf } from "../../../test/world/service-scene.ts";
import { settle } from "../../../test/world/stepped-clock.ts";
import { setTimeouts } from "./set-timeouts.ts";
import { viewSandbox } from "#services/reading/get-sandbox.ts";

const hour = 3_600_000;
const admin = { kind: "admin" } as const;

async function sandbox(world: DeepPauseScene, more: object = {}): Promise<string> {
  const { sandbox: made } = await world.process.create({
    lifetimeMs: hour,
    metadata: { purpose: "test" },
    envVars: { KEY: "of-the-user" },
    ...more,
  });
  return made.sandboxId;
}

test("a pause without memory makes a checkpoint and gives back the pod; the sandbox is paused, and no sandbox of its team", async () => {
  await using world = await DeepPauseScene.open();
  const { scene, process } = world;
  const id = await sandbox(world);
  const before = await viewSandbox(process.deps, ann, id);
  const number = await world.at(id);
  expect(await world.asleep(id)).toMatchObject({
    sandboxId: id,
    status: "Paused",
    metadata: { purpose: "test" },
    claimedAt: before.claimedAt,
  });
  const pod = await scene.pod(number);
  expect([sandboxIdOf(pod), sandboxPhaseOf(pod)]).toEqual([undefined, "idle"]);
  expect([...process.live.newestFirst({ scope: admin })].map(({ sandboxId, status }) => [sandboxId, status])).toEqual([[id, "Paused"]]);
  expect(countSandboxes(process.live)("red", "ann")).toBe(0);
  expect(await scene.history.get(id, admin), "it has not ended").toBeUndefined();
  expect(await world.checkpoints()).toMatchObject([{ status: { phase: "Succeeded", holdsSandbox: true } }]);
  expect(JSON.stringify(await world.checkpoints())).not.toContain("of-the-user");
});

test("a resume brings it back under its id, with all that it was made with and the time it had left, and its checkpoint goes", async () => {
  await using world = await DeepPauseScene.open();
  const { scene, process } = world;
  const id = await sandbox(world, { idleTimeoutMs: 600_000, labels: { app: "x" } });
  const before = await viewSandbox(process.deps, ann, id);
  await world.asleep(id);
  await world.clock.step(24 * hour);
  const resuming = world.resume(id);
  await settle();
  const again = await world.at(id);
  await world.exchanged(again);
  const { claimedAt, metadata, idleTimeoutMs, labels } = before;
  expect(await resuming).toMatchObject({ sandboxId: id, status: "Running", claimedAt, metadata, idleTimeoutMs, labels });
  expect(scene.daemons.at(addressOf(again))?.armed).toMatchObject({ sandboxId: id, body: { envVars: { KEY: "of-the-user" } } });
  const { endTime = "" } = await viewSandbox(process.deps, ann, id);
  expect(Date.parse(endTime) - world.clock.now()).toBeGreaterThan(hour - 60_000);
  await settle();
  expect((await scene.pod(again)).metadata.annotations?.[annotationKeys.resumedFrom]).toBeUndefined();
  expect((await world.checkpoints()).filter(({ metadata: { deletionTimestamp } }) => deletionTimestamp === undefined)).toEqual([]);
  await process.claims.end(ann, id);
  await world.recycled(again);
  expect(await scene.history.get(id, admin)).toMatchObject({ status: "Completed", claimedAt });
  await world.clock.step(60_000);
  expect([await world.checkpoints(), [...world.images.kept]]).toEqual([[], []]);
});

test("many resumes at once are one", async () => {
  await using world = await DeepPauseScene.open();
  const id = await sandbox(world);
  await world.asleep(id);
  const resuming = Promise.all(Array.from({ length: 5 }, () => world.resume(id)));
  await world.started(id);
  expect((await resuming).map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => "Running"));
  expect((await world.scene.pods()).filter((pod) => sandboxIdOf(pod) === id)).toHaveLength(1);
});

test("I1: of two processes that resume it at once one does, and the other is told of it", async () => {
  await using world = await DeepPauseScene.open();
  const id = await sandbox(world);
  await world.asleep(id);
  const other = await world.newProcess(2);
  const results = Promise.allSettled([world.resume(id), world.resume(id, other)]);
  await world.started(id);
  const settled = await results;
  expect(settled.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(settled.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "conflict" } });
  expect((await world.scene.pods()).filter((pod) => sandboxIdOf(pod) === id)).toHaveLength(1);
});

test("a resume for which there is no pod fails, and the sandbox is paused as before", async () => {
  await using world = await DeepPauseScene.open({ defaultStartupTimeout: "20s" });
  const id = await sandbox(world);
  await world.asleep(id);
  const others = [await sandbox(world), await sandbox(world)];
  const failing = failureOf(world.resume(id));
  await world.clock.step(21_000);
  expect(await failing).toMatchObject({ code: "no_capacity" });
  expect(await viewSandbox(world.process.deps, ann, id)).toMatchObject({ status: "Paused" });
  for (const other of others) await world.process.claims.end(ann, other);
  await world.recycled(1);
  await world.recycled(2);
  const resuming = world.resume(id);
  await world.started(id);
  expect(await resuming).toMatchObject({ sandboxId: id, status: "Running" });
});

test("I7: a resume whose pod never starts falls back to the checkpoint without a record, and can be tried again", async () => {
  await using world = await DeepPauseScene.open({ defaultStartupTimeout: "20s" });
  const id = await sandbox(world);
  await world.asleep(id);
  const failing = failureOf(world.resume(id));
  await settle();
  expect(await viewSandbox(world.process.deps, ann, id)).toMatchObject({ status: "Starting" });
  await world.clock.step(25_000);
  expect((await failing).code).toMatch(/timeout|no_capacity|unavailable/);
  await world.clock.step(5000);
  expect(await viewSandbox(world.process.deps, ann, id)).toMatchObject({ status: "Paused" });
  await world.recycled(1);
  await world.recycled(2);
  expect(await world.scene.history.get(id, admin)).toBeUndefined();
  const resuming = world.resume(id);
  await world.started(id);
  expect(await resuming).toMatchObject({ status: "Running" });
});

test("I7: a sandbox that a process has claimed a pod for, and not armed before it ended, is paused as before, and soon", async () => {
  await using world = await DeepPauseScene.open();
  const id = await sandbox(world);
  await world.asleep(id);
  world.scene.daemons.fail("init", ...Array.from({ length: 1000 }, () => "unreachable" as const));
  const resuming = world.resume(id).catch(() => undefined);
  const number = await world.at(id);
  await world.clock.step(500);
  await world.scene.nodeStarts(number);
  await world.scene.nodeReports(number);
  expect(await failureOf(world.deepPause(id))).toMatchObject({ code: "conflict" });
  // It does not run yet, so another process does not say that it does.
  expect(await failureOf(world.resume(id, await world.newProcess(2)))).toMatchObject({ code: "conflict" });
  await world.clock.step(45_000);
  expect(await viewSandbox(world.process.deps, ann, id)).toMatchObject({ status: "Paused" });
  expect(await world.scene.history.get(id, admin)).toBeUndefined();
  await world.clock.step(120_000);
  await resuming;
});

test("a daemon that is not armed yet is given time, however often the pod of its sandbox changes", async () => {
  await using world = await DeepPauseScene.open();
  const id = await sandbox(world);
  await world.asleep(id);
  world.scene.daemons.fail("init", ...Array.from({ length: 1000 }, () => "unreachable" as const));
  const resuming = world.resume(id).catch(() => undefined);
  const number = await world.at(id);
  await world.clock.step(500);
  await world.scene.nodeStarts(number);
  for (let change = 0; change < 10; change++) {
    await world.scene.nodeReports(number, { conditions: [{ type: "Ready", status: "True", reason: `Change${change}` }] });
    await world.clock.step(100);
  }
  expect(await viewSandbox(world.process.deps, ann, id)).not.toMatchObject({ status: "Paused" });
  await world.clock.step(200_000);
  await resuming;
});

test("one that is ended while no pod carries it has its record, and its checkpoint goes", async () => {
  await using world = await DeepPauseScene.open();
  const id = await sandbox(world);
  await world.asleep(id);
  await world.process.claims.end(ann, id);
  expect(await world.scene.history.get(id, admin)).toMatchObject({
    status: "Completed",
    podName: expect.stringMatching(/^py-[12]$/),
    metadata: { purpose: "test" },
  });
  expect(await viewSandbox(world.process.deps, ann, id)).toMatchObject({ status: "Completed" });
  await settle();
  expect([await world.checkpoints(), [...world.images.kept]]).toEqual([[], []]);
  expect([...world.process.live.newestFirst({ scope: admin })]).toEqual([]);
});

test("one whose checkpoint is deleted by hand has failed, and its record says so", async () => {
  await using world = await DeepPauseScene.open();
  const id = await sandbox(world);
  await world.asleep(id);
  const [checkpoint] = await world.checkpoints();
  await world.scene.client.delete(Checkpoints, { namespace: "ns", name: checkpoint?.metadata.name ?? "" });
  await settle();
  expect(await world.scene.history.get(id, admin)).toMatchObject({ status: "Failed", failureReason: "CheckpointLost" });
  expect(await failureOf(world.resume(id))).toMatchObject({ code: "conflict" });
});

test("what needs a running sandbox is refused while it is paused without memory", async () => {
  await using world = await DeepPauseScene.open();
  const id = await sandbox(world);
  await world.asleep(id);
  expect(await failureOf(setTimeouts(world.process.deps, ann, id, { lifetimeMs: hour }))).toMatchObject({
    code: "conflict",
    message: expect.stringContaining("resume it first"),
  });
  expect(await world.pause(id)).toMatchObject({ status: "Paused" });
  expect(await world.deepPause(id)).toMatchObject({ status: "Paused" });
});

test("a checkpoint that cannot be taken leaves a sandbox that runs running, and the caller is told why", async () => {
  await using world = await DeepPauseScene.open();
  const id = await sandbox(world);
  world.images.failure = new CheckpointRefused("LimitReached", "team red has no room");
  const failing = failureOf(world.deepPause(id));
  await settle();
  await world.node(id);
  expect(await failing).toMatchObject({ code: "unavailable", message: expect.stringContaining("team red has no room") });
  await world.node(id);
  expect(await viewSandbox(world.process.deps, ann, id)).toMatchObject({ status: "Running" });
  await settle();
  expect(await world.checkpoints()).toEqual([]);
});

test("a sandbox that is paused for longer than its pool allows gives back its pod, and not before", async () => {
  await using world = await DeepPauseScene.open({ deepPause: { after: "2h" } });
  const id = await sandbox(world);
  const pausing = world.pause(id);
  await settle();
  await world.node(id);
  await pausing;
  await world.clock.step(2 * hour - 60_000);
  expect(await world.checkpoints()).toEqual([]);
  await world.clock.step(2 * 60_000);
  expect(await world.at(id), "no pod").toBeNaN();
  expect(await viewSandbox(world.process.deps, ann, id)).toMatchObject({ status: "Paused" });
});

test("a resume that comes while the checkpoint is taken keeps the pod, and the checkpoint goes", async () => {
  await using world = await DeepPauseScene.open({ deepPause: { after: "1h" } });
  const id = await sandbox(world);
  const pausing = world.pause(id);
  await settle();
  await world.node(id);
  await pausing;
  const held = Promise.withResolvers<void>();
  world.images.hold = held.promise;
  const number = await world.at(id);
  await world.clock.step(hour + 120_000);
  expect(await world.checkpoints()).toHaveLength(1);
  const resuming = world.resume(id);
  await settle();
  await world.node(id);
  expect(await resuming).toMatchObject({ status: "Running" });
  held.resolve();
  await world.clock.step(1000);
  expect([await world.at(id), await world.checkpoints(), [...world.images.kept]]).toEqual([number, [], []]);
});

test("where a create waits the sandbox that is paused the longest gives back its pod, if its pool says so", async () => {
  await using world = await DeepPauseScene.open({ deepPause: { whenNeeded: true } });
  const ids = [await sandbox(world), await sandbox(world)];
  for (const id of ids) {
    const pausing = world.pause(id);
    await settle();
    await world.node(id);
    await pausing;
    await world.clock.step(1000);
  }
  const creating = world.process.create();
  await settle();
  await world.recycled(1);
  await world.recycled(2);
  expect((await creating).sandbox).toMatchObject({ status: "Running" });
  expect((await world.checkpoints()).map(({ spec }) => spec.sandboxID)).toEqual([ids[0]]);
});

test("a timeout that is to pause without memory does", async () => {
  await using world = await DeepPauseScene.open();
  const id = await sandbox(world, { onTimeout: "deep-pause", lifetimeMs: 60_000 });
  await world.clock.step(61_000);
  await world.node(id);
  await settle();
  expect(await viewSandbox(world.process.deps, ann, id)).toMatchObject({ status: "Paused", onTimeout: "deep-pause" });
  expect(await world.at(id), "no pod").toBeNaN();
});

test("I7: a process that ends between any two steps of a pause loses no sandbox", async () => {
  await using world = await DeepPauseScene.open();
  const id = await sandbox(world);
  const held = Promise.withResolvers<void>();
  world.images.hold = held.promise;
  const number = await world.at(id);
  const pausing = world.deepPause(id).catch((error: unknown) => error);
  await settle();
  await world.node(id);
  const stopping = world.stopControllers();
  held.resolve();
  await stopping;
  world.startControllers();
  await settle();
  await pausing;
  await world.recycled(number);
  expect(await viewSandbox(world.process.deps, ann, id)).toMatchObject({ status: "Paused" });
  expect(await world.scene.history.get(id, admin)).toBeUndefined();
});
