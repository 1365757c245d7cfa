import { afterEach, expect, test } from "vitest";
import { startPodController } from "#life/reconcile-pod.ts";
import { systemClock } from "#lib/clock.ts";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { Namespaces } from "#model/core-kinds.ts";
import { Pods } from "#model/pod.ts";
import { eventually } from "../world/eventually.ts";
import { image, PodScene } from "../world/pod-scene.ts";
import { until } from "./helpers.ts";
import { describeClaims } from "./servers.ts";

describeClaims("the pod controller", (server) => {
  let stop = async (): Promise<void> => {};
  afterEach(() => stop());

  async function started(): Promise<PodScene> {
    const { client, claimsOnLeases } = server();
    const scene = await PodScene.open({ client, clock: systemClock, namespace: await server().namespace(), claimsOnLeases });
    const controller = startPodController({ ...scene.deps, metrics: scene.metrics });
    stop = async () => {
      await controller.stop();
      await scene[Symbol.asyncDispose]();
    };
    await controller.started;
    return scene;
  }

  const inPhase = (scene: PodScene, phase: string) =>
    until(scene.client, Pods, scene.key, (pod) => pod !== undefined && sandboxPhaseOf(pod) === phase);

  test("a sandbox starts, ends, is recorded, and its pod is idle again", async () => {
    const scene = await started();
    await scene.claim();
    await scene.nodeReports();
    await inPhase(scene, "running");
    await scene.release();
    scene.answer = {};
    await scene.nodeReports();
    const idle = await inPhase(scene, "idle");
    expect(idle === undefined ? "gone" : sandboxIdOf(idle)).toBeUndefined();
    expect(await scene.record()).toMatchObject({ status: "Completed", sandboxId: "i1" });
    expect(scene.started).toHaveLength(1);
  });

  test("W9: a claimed pod that somebody deletes is recorded before it is let go", async () => {
    const scene = await started();
    await scene.claim({ images: { main: image("idle") } });
    await scene.client.delete(Pods, scene.key, { gracePeriodSeconds: 0 });
    await eventually(async () => expect(await scene.record()).toMatchObject({ status: "Failed", failureReason: "PodDeleted" }));
    await eventually(async () => expect(await scene.isGone()).toBe(true));
  });

  test("pods of a namespace that goes are let go, and W9: what they carried is recorded before", async () => {
    for (const isClaimed of [false, true]) {
      const scene = await started();
      if (isClaimed) await scene.claim({ images: { main: image("idle") } });
      await scene.client.delete(Namespaces, { name: scene.namespace });
      // A server without controllers leaves garbage collection to others.
      await scene.client.delete(Pods, scene.key, { gracePeriodSeconds: 0 });
      await eventually(async () => expect(await scene.isGone()).toBe(true));
      expect((await scene.record())?.failureReason).toBe(isClaimed ? "PodDeleted" : undefined);
      await stop();
    }
    stop = async () => {};
  });

  test("a container that was restarted fails its sandbox", async () => {
    const scene = await started();
    await scene.claim({ images: { main: image("idle") } });
    await scene.nodeRestarts("OOMKilled", 137);
    await eventually(async () => expect(await scene.record()).toMatchObject({ failureReason: "OOMKilled", exitCode: 137 }));
  });
});
