import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { prometheusMetrics } from "#lib/metrics.ts";
import { annotationKeys } from "#model/keys.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { formatTime } from "#sandbox/annotation-values.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import { embeddedClaimScene } from "../../test/world/embedded-scenes.ts";
import { recordedLog } from "../../test/world/recorded-log.ts";
import { settle } from "../../test/world/stepped-clock.ts";
import { TrafficLog } from "./activity.ts";
import { ActivityWriter } from "./activity-writer.ts";

/** A sandbox with an idle timeout, and a gateway that writes what it sees of it. */
async function writerScene() {
  const world = await embeddedClaimScene({ pods: 1 });
  const { scene, clock } = world;
  const process = await scene.process();
  const { sandbox } = await process.create({ idleTimeoutMs: 60_000 });
  await settle();
  const traffic = new TrafficLog(clock);
  const deps = { client: scene.client, cache: process.cache, traffic, clock, log: recordedLog().log };
  const writer = new ActivityWriter({ ...deps, metrics: prometheusMetrics(new Registry()), random: () => 0 });
  return {
    clock,
    request: async () => traffic.begin(sandbox.sandboxId, await scene.pod()),
    lastActive: async () => (await scene.pod()).metadata.annotations?.[annotationKeys.lastActive],
    /** Another gateway saw it in use at this moment, and said so first. */
    otherWrites: async (ms: number): Promise<void> => {
      const pod: Pod = await scene.pod();
      const { namespace, name = "" } = pod.metadata;
      await scene.client.patch(Pods, { namespace, name }, podPatch(pod, { annotations: { [annotationKeys.lastActive]: formatTime(ms) } }));
      await settle();
    },
    [Symbol.asyncDispose]: async () => {
      writer.stop();
      await world[Symbol.asyncDispose]();
    },
  };
}

test("the latest traffic is written to the pod, late", async () => {
  await using scene = await writerScene();
  const seen = scene.clock.now();
  (await scene.request())();
  expect(await scene.lastActive()).toBeUndefined();
  await scene.clock.step(30_000);
  expect(await scene.lastActive()).toBe(formatTime(seen));
});

test("what is open is traffic at the moment of the write", async () => {
  await using scene = await writerScene();
  const done = await scene.request();
  await scene.clock.step(20_000);
  expect(await scene.lastActive()).toBe(formatTime(scene.clock.now()));
  done();
});

test("it never goes back: what another gateway saw later stays", async () => {
  await using scene = await writerScene();
  (await scene.request())();
  await scene.clock.step(10_000);
  const later = scene.clock.now();
  await scene.otherWrites(later);
  await scene.clock.step(60_000);
  expect(await scene.lastActive()).toBe(formatTime(later));
});
