import { expect, test } from "vitest";
import { CheckpointRefused } from "#engine-port/checkpoint-images.ts";
import { Checkpoints } from "#model/checkpoint.ts";
import { checkpointImage } from "#model/checkpoint-image.ts";
import { annotationKeys, finalizers, labelKeys } from "#model/keys.ts";
import { Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { aDigest, baseImage, CheckpointScene } from "../../../test/world/checkpoint-scene.ts";
import { namespace } from "../../../test/world/service-scene.ts";
import { settle } from "../../../test/world/stepped-clock.ts";
import { sweepImages } from "./sweep-images.ts";

const id = "cp-aaaaaaaaaaaaaaaaaaaa";
const minute = 60_000;

test("a checkpoint of a running sandbox is taken once, and says what it is and where it was taken", async () => {
  await using scene = await CheckpointScene.open();
  await scene.sandbox("i-1");
  await scene.make(id, { config: { user: "1000" } });
  await settle();
  expect(await scene.stored(id)).toMatchObject({
    metadata: { finalizers: [finalizers.checkpointImage] },
    status: { phase: "Succeeded", checkpointId: id, baseImage, sizeBytes: 7, source: { pool: "py", container: "main" } },
  });
  expect(scene.images.orders).toEqual([
    { id, pod: expect.objectContaining({ name: "pod-i-1" }), container: "main", baseImage, team: "red", config: { user: "1000" } },
  ]);
  await scene.restart();
  expect(scene.images.orders, "what is there is not taken again").toHaveLength(1);
});

test("one of another name gets an id that can be used in the name of an image", async () => {
  await using scene = await CheckpointScene.open();
  await scene.sandbox("i-1");
  await scene.make("before-upgrade");
  await settle();
  const { status } = (await scene.stored("before-upgrade")) ?? {};
  expect(status?.checkpointId).toMatch(/^cp-[a-z0-9]{20}$/);
  expect(status?.image).toBe(`${checkpointImage(status?.checkpointId ?? "")}@${aDigest}`);
});

test("I7: one that was being taken when the process ended is taken by the next one", async () => {
  await using scene = await CheckpointScene.open();
  await scene.sandbox("i-1");
  const never = Promise.withResolvers<void>();
  scene.images.hold = never.promise;
  await scene.make(id);
  await settle();
  expect((await scene.stored(id))?.status?.phase).toBe("Creating");
  scene.images.hold = Promise.resolve();
  const restarting = scene.restart();
  never.reject(new Error("the process ended"));
  await restarting;
  await settle();
  expect((await scene.stored(id))?.status?.phase).toBe("Succeeded");
});

test("one that cannot be taken says why, and is not tried again", async () => {
  await using scene = await CheckpointScene.open();
  await scene.sandbox("i-1");
  scene.images.failure = new CheckpointRefused("LimitReached", "team red has no room");
  await scene.make(id);
  await settle();
  expect((await scene.stored(id))?.status).toMatchObject({ phase: "Failed", reason: "LimitReached", message: "team red has no room" });
  await scene.services.clock.step(minute);
  expect(scene.images.orders).toHaveLength(1);
});

test("of no sandbox, of one that has ended and of another team's none is taken", async () => {
  await using scene = await CheckpointScene.open();
  await scene.make("cp-1", { sandboxID: "i-0" });
  await scene.sandbox("i-1");
  await scene.make("cp-2", {}, { [labelKeys.team]: "blue" });
  await settle();
  for (const name of ["cp-1", "cp-2"]) {
    const { status } = (await scene.stored(name)) ?? {};
    expect(status).toMatchObject({ phase: "Failed", reason: "SandboxGone", message: expect.stringContaining("there is no live sandbox") });
  }
  expect(scene.images.orders).toEqual([]);
});

test("one of a sandbox that starts waits until it runs", async () => {
  await using scene = await CheckpointScene.open();
  await scene.sandbox("i-1");
  await scene.services.change("i-1", { labels: { [labelKeys.sandboxPhase]: "starting" } });
  await scene.make(id);
  await scene.services.clock.step(1000);
  expect(scene.images.orders).toEqual([]);
  await scene.services.change("i-1", { labels: { [labelKeys.sandboxPhase]: "running" } });
  await scene.services.clock.step(1000);
  expect((await scene.stored(id))?.status?.phase).toBe("Succeeded");
});

test.each([
  ["ends", { [labelKeys.sandboxPhase]: "stopping" }],
  ["gives its pod to another one", { [labelKeys.sandboxId]: "i-9", [labelKeys.team]: "blue" }],
])("I8: of a sandbox that %s while it is copied nothing is kept", async (_, labels) => {
  await using scene = await CheckpointScene.open();
  await scene.sandbox("i-1");
  const held = Promise.withResolvers<void>();
  scene.images.hold = held.promise;
  await scene.make(id);
  await settle();
  await scene.services.change("i-1", { labels });
  held.resolve();
  await settle();
  expect((await scene.stored(id))?.status).toMatchObject({ phase: "Failed", reason: "SandboxGone" });
  expect([...scene.images.kept]).toEqual([]);
});

test("with ttlAfterFinished it is deleted that long after its end, with its image", async () => {
  await using scene = await CheckpointScene.open();
  await scene.sandbox("i-1");
  await scene.make(id, { ttlAfterFinished: "10m" });
  await scene.services.clock.step(9 * minute);
  expect([...scene.images.kept]).toEqual([id]);
  await scene.services.clock.step(2 * minute);
  expect(await scene.stored(id)).toBeUndefined();
  expect([...scene.images.kept]).toEqual([]);
});

test("the image of a deleted one stays while a pod or a pool names it", async () => {
  await using scene = await CheckpointScene.open();
  await scene.sandbox("i-1");
  await scene.make(id);
  await settle();
  const { image = "" } = (await scene.stored(id))?.status ?? {};
  await scene.sandbox("i-2", image);
  const { client, clock } = scene.services;
  const template = { spec: { containers: [{ name: "main", image }] } };
  await client.create(SandboxPools, { metadata: { namespace, name: "named" }, spec: { replicas: 0, template } });
  await client.delete(Checkpoints, { namespace, name: id });
  await clock.step(minute);
  expect([...scene.images.kept]).toEqual([id]);
  await client.delete(SandboxPools, { namespace, name: "named" });
  await clock.step(minute);
  expect([...scene.images.kept], "a sandbox runs from it").toEqual([id]);
  await client.delete(Pods, { namespace, name: "pod-i-2" });
  await clock.step(minute);
  expect(await scene.stored(id)).toBeUndefined();
  expect([...scene.images.kept]).toEqual([]);
});

test("with keepRunning false the sandbox is released once the checkpoint is there", async () => {
  await using scene = await CheckpointScene.open();
  await scene.sandbox("i-1");
  await scene.make(id, { keepRunning: false });
  await scene.services.clock.step(1000);
  expect((await scene.stored(id))?.status?.phase).toBe("Succeeded");
  expect((await scene.services.stored("i-1")).metadata).toMatchObject({
    labels: { [labelKeys.sandboxPhase]: "stopping" },
    annotations: { [annotationKeys.stopReason]: "Released" },
  });
});

test("images whose checkpoint is gone are swept, those of others stay", async () => {
  await using scene = await CheckpointScene.open();
  await scene.sandbox("i-1");
  await scene.make(id);
  await settle();
  scene.images.kept.add("cp-bbbbbbbbbbbbbbbbbbbb");
  const { cache, clock, log } = scene.services;
  await sweepImages({ cache, clock, log, checkpoints: scene.images });
  expect([...scene.images.kept]).toEqual([id]);
});
