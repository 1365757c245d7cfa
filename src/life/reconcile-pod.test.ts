import { describe, expect, test } from "vitest";
import { isResting, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import { Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { planFinishStart } from "./arm/plan-started.ts";
import { planRecycleStart } from "./recycle/plan-recycle-start.ts";
import { embeddedPodScene } from "../../test/world/embedded-scenes.ts";
import { image, type PodScene } from "../../test/world/pod-scene.ts";
import { pinned } from "../../test/world/pool-pods.ts";

const waitingImage = { images: { main: image("idle") } };

async function running(scene: PodScene): Promise<void> {
  await scene.claim(waitingImage);
}

describe("starting", () => {
  test("a sandbox is running when its new container answers, and not before (W6)", async () => {
    await using world = await embeddedPodScene();
    const { scene } = world;
    const starting = await scene.claim();
    await scene.reconcile();
    expect(sandboxPhaseOf(await scene.pod())).toBe("starting");
    const [container] = (await scene.nodeReports()).status?.containerStatuses ?? [];
    const crashing = { ...container, ready: false, state: { waiting: { reason: "CrashLoopBackOff" } } };
    await scene.nodeReports({ containerStatuses: [crashing as NonNullable<typeof container>] });
    await scene.reconcile();
    expect(sandboxPhaseOf(await scene.pod())).toBe("starting");
    await scene.nodeReports({ containerStatuses: [container as NonNullable<typeof container>] });
    await scene.reconcile();
    const pod = await scene.pod();
    expect(sandboxPhaseOf(pod)).toBe("running");
    expect(pod.metadata.uid).toBe(starting.metadata.uid);
    expect(await scene.metric("agentbox_sandbox_starting_duration_seconds")).toContain('count{namespace="ns",pool="py"} 1');
  });

  test("why a pod does not start stands on it until it has started", async () => {
    await using world = await embeddedPodScene();
    const { scene } = world;
    const noted = async () => (await scene.pod()).metadata.annotations?.[annotationKeys.sandboxStatusDetail];
    await scene.claim();
    const [container] = (await scene.nodeReports()).status?.containerStatuses ?? [];
    if (container === undefined) throw new Error("no container");
    const waiting = { reason: "ImagePullBackOff", message: "no such image" };
    await scene.nodeReports({ containerStatuses: [{ ...container, ready: false, state: { waiting } }] });
    await scene.reconcile();
    expect(await noted()).toMatch(/"reason":"ImagePullBackOff","message":".*no such image"/);
    await scene.nodeReports({ containerStatuses: [container] });
    await scene.reconcile();
    expect([await noted(), sandboxPhaseOf(await scene.pod())]).toEqual([undefined, "running"]);
  });

  test("W14: of several that finish a start one tells of it, and one that finishes nothing tells nothing", async () => {
    await using world = await embeddedPodScene();
    const { scene } = world;
    await scene.claim();
    await scene.nodeReports();
    await Promise.all([scene.reconcile(), scene.reconcile(), scene.reconcile()]);
    await scene.pod();
    await scene.reconcile();
    expect(scene.started).toHaveLength(1);
  });
});

describe("running", () => {
  test("a container that was restarted by nobody's wish fails the sandbox, with its reason and exit code", async () => {
    await using world = await embeddedPodScene();
    const { scene } = world;
    await running(scene);
    await scene.nodeRestarts("OOMKilled", 137);
    await scene.reconcile();
    const pod = await scene.pod();
    expect(sandboxPhaseOf(pod)).toBe("stopping");
    await scene.reconcile();
    expect(await scene.record()).toMatchObject({ status: "Failed", failureReason: "OOMKilled", exitCode: 137 });
    expect(scene.told).toEqual([expect.stringContaining("OOMKilled")]);
  });

  test.each([
    ["ServerDown", "Released", 0],
    ["NodeRestarted", "Failed", 1],
    ["RestoredFromBackup", "Failed", 1],
  ] as const)("%s ends the sandbox as %s, at the time at which it ended", async (reason, status, told) => {
    await using world = await embeddedPodScene();
    const { scene } = world;
    await running(scene);
    const terminatedAt = new Date(scene.clock.now() - (scene.clock.now() % 1_000)).toISOString();
    await world.clock.step(3_600_000);
    await scene.nodeRestarts(reason, 137, terminatedAt);
    await scene.reconcile();
    await scene.reconcile();
    expect(await scene.record()).toMatchObject({ status, stopReason: status, failureReason: reason, terminatedAt });
    expect(scene.told).toHaveLength(told);
  });
});

describe("stopping", () => {
  test("the record is written, then the pod is idle again without any trace of the sandbox", async () => {
    await using world = await embeddedPodScene();
    const { scene } = world;
    await running(scene);
    await scene.release();
    expect(await scene.reconcile()).toEqual({ afterMs: 60_000, exact: true });
    expect(await scene.record()).toMatchObject({ status: "Completed", team: "red", user: "ann", podName: "py-1" });
    expect(sandboxIdOf(await scene.pod())).toBe("i1");
    await scene.nodeReports();
    scene.answer = {};
    await scene.reconcile();
    const idle = await scene.pod();
    expect([sandboxPhaseOf(idle), sandboxIdOf(idle), idle.metadata.annotations?.[annotationKeys.useCount]]).toEqual([
      "idle",
      undefined,
      "1",
    ]);
    expect(scene.puts).toBe(1);
    expect(await scene.metric("agentbox_sandbox_delete_total")).toContain('reason="Completed"} 1');
    expect(await scene.metric("agentbox_inplace_update_total")).toContain('exchange="stopping",result="completed"} 1');
  });

  test("W1: a second delete of a stopping sandbox writes nothing", async () => {
    await using world = await embeddedPodScene();
    const { scene } = world;
    await running(scene);
    expect((await scene.release()).kind).toBe("ended");
    const before = await scene.pod();
    expect((await scene.release()).kind).toBe("already-ended");
    expect((await scene.pod()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });

  test("W9: while the history cannot be written the pod keeps its identity, and nothing is lost", async () => {
    await using world = await embeddedPodScene();
    const { scene } = world;
    await running(scene);
    await scene.release();
    await scene.nodeReports();
    scene.answer = {};
    scene.historyFailures = 2;
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(scene.reconcile()).rejects.toMatchObject({ code: "unavailable" });
      expect(sandboxIdOf(await scene.pod())).toBe("i1");
    }
    expect(await scene.metric("agentbox_history_write_failures_total")).toContain('result="later"} 2');
    await scene.reconcile();
    expect(await scene.record()).toMatchObject({ status: "Completed" });
    expect(sandboxPhaseOf(await scene.pod())).toBe("idle");
  });

  test("a pod that takes too long back is recorded and replaced, at the moment when its time is over", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    await running(scene);
    await scene.release();
    await clock.step(59_999);
    expect(await scene.reconcile()).toEqual({ afterMs: 1, exact: true });
    await clock.step(1);
    await scene.reconcile();
    expect((await scene.pod()).metadata.deletionTimestamp).toBeDefined();
    await scene.reconcile();
    expect(await scene.record()).toMatchObject({ status: "Completed" });
    expect(await scene.metric("agentbox_inplace_update_total")).toContain('exchange="stopping",result="failed"} 1');
  });

  test("a pod that rests is recorded, and not replaced however long its node has no time for it", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    await running(scene);
    await scene.releaseToRest();
    await scene.reconcile();
    await clock.step(3_600_000);
    expect(await scene.reconcile()).toBeUndefined();
    expect(await scene.record()).toMatchObject({ status: "Completed" });
    const pod = await scene.pod();
    expect([isResting(pod), pod.metadata.deletionTimestamp]).toEqual([true, undefined]);
  });

  test("a pod has its whole time for the way back from when it ceases to rest", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    await running(scene);
    await scene.releaseToRest();
    await clock.step(3_600_000);
    const patch = planRecycleStart(await scene.pod(), { main: pinned("idle", 1) }, clock.now());
    await scene.client.patch(Pods, scene.key, patch ?? { type: "json", operations: [] });
    await scene.pod();
    expect(await scene.reconcile()).toEqual({ afterMs: 60_000, exact: true });
  });

  test("I2: a container that still works for the last user is none to be idle with, whatever its node reports", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    await running(scene);
    await scene.release();
    await scene.nodeReports();
    scene.answer = { sandboxId: "i1" };
    expect(await scene.reconcile()).toEqual({ afterMs: 100, exact: true });
    expect(await scene.record()).toMatchObject({ status: "Completed" });
    await clock.step(40_000);
    expect(await scene.reconcile()).toEqual({ afterMs: 5_000, exact: true });
    expect(sandboxPhaseOf(await scene.pod())).toBe("stopping");
    scene.answer = {};
    await scene.reconcile();
    expect(sandboxPhaseOf(await scene.pod())).toBe("idle");
  });

  test.each([
    ["does not answer", undefined],
    ["has lost its address to another pod", { podUid: "another" }],
    ["works for the last user", { sandboxId: "i1" }],
  ])("I2: a pod whose daemon %s is replaced when its time is over", async (_, answer) => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    await running(scene);
    await scene.release();
    await scene.nodeReports();
    scene.answer = answer;
    await clock.step(59_990);
    expect(await scene.reconcile()).toEqual({ afterMs: 10, exact: true });
    await clock.step(10);
    await scene.reconcile();
    expect((await scene.pod()).metadata.deletionTimestamp).toBeDefined();
  });

  test("a recycled pod's daemon is asked once, and none that is not done", async () => {
    await using world = await embeddedPodScene();
    const { scene } = world;
    scene.answer = {};
    await running(scene);
    await scene.release();
    await scene.reconcile();
    expect(scene.asked).toEqual([]);
    await scene.nodeReports();
    await scene.reconcile();
    expect([sandboxPhaseOf(await scene.pod()), scene.asked.length]).toEqual(["idle", 1]);
  });

  test("W26: a pod with a volume that its user could write to is recorded and replaced, not recycled", async () => {
    const spec = {
      containers: [{ name: "main", image: "registry.invalid/app:1", volumeMounts: [{ name: "work", mountPath: "/work" }] }],
      volumes: [{ name: "work", emptyDir: {} }],
    };
    await using world = await embeddedPodScene({ pool: { template: { spec } } });
    const { scene } = world;
    await running(scene);
    await scene.release();
    await scene.reconcile();
    expect(await scene.record()).toMatchObject({ status: "Completed" });
    expect((await scene.pod()).metadata.deletionTimestamp).toBeDefined();
  });
});

describe("the end of a pod", () => {
  test("W9: a starting pod that is deleted gets its record before it is let go", async () => {
    await using world = await embeddedPodScene();
    const { scene } = world;
    await scene.claim();
    await scene.delete();
    scene.historyFailures = 1;
    await expect(scene.reconcile()).rejects.toThrow("does not answer");
    expect((await scene.pod()).metadata.finalizers).toHaveLength(1);
    await scene.reconcile();
    expect(await scene.record()).toMatchObject({ status: "Failed", failureReason: "PodDeleted" });
    expect(await scene.isGone()).toBe(true);
    expect(scene.told).toEqual([expect.stringContaining("PodDeleted")]);
  });

  test("an evicted pod's sandbox has failed by it, and the pod goes", async () => {
    await using world = await embeddedPodScene();
    const { scene } = world;
    await running(scene);
    await scene.nodeReports({ phase: "Failed", reason: "Evicted", message: "the node was low on memory" });
    await scene.reconcile();
    expect(await scene.record()).toMatchObject({
      status: "Failed",
      failureReason: "Evicted",
      failureMessage: "the node was low on memory",
    });
    await scene.pod().then(
      () => scene.reconcile(),
      () => undefined,
    );
    expect(await scene.isGone()).toBe(true);
    expect(scene.puts).toBe(1);
  });

  test("a pod that is deleted while it stops keeps the end that it had", async () => {
    await using world = await embeddedPodScene();
    const { scene } = world;
    await running(scene);
    await scene.release();
    await scene.delete();
    await scene.reconcile();
    expect(await scene.record()).toMatchObject({ status: "Completed" });
    expect(await scene.isGone()).toBe(true);
  });

  test("an idle pod that is deleted is let go without a record", async () => {
    await using world = await embeddedPodScene();
    const { scene } = world;
    await scene.delete();
    await scene.reconcile();
    expect([await scene.isGone(), scene.puts]).toEqual([true, 0]);
  });
});

describe("idle", () => {
  test("a fresh idle pod of a pool that is there is left alone", async () => {
    await using world = await embeddedPodScene();
    const { scene } = world;
    const before = await scene.pod();
    expect(await scene.reconcile()).toBeUndefined();
    expect((await scene.pod()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });

  test("W1: a pod that calls itself idle and still shows a sandbox is recorded and replaced", async () => {
    await using world = await embeddedPodScene();
    const { scene } = world;
    await running(scene);
    await scene.annotate({}, { [labelKeys.sandboxPhase]: "idle" });
    await scene.reconcile();
    expect(await scene.record()).toMatchObject({ sandboxId: "i1" });
    expect((await scene.pod()).metadata.deletionTimestamp).toBeDefined();
  });

  test("an idle pod without a pool goes; one whose pool the cache merely lacks stays", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    const pools = { objects: { get: () => undefined } } as unknown as typeof scene.cache.pools;
    const blind = { ...scene.deps, cache: Object.create(scene.cache, { pools: { value: pools } }) as typeof scene.cache };
    await scene.reconcile(blind);
    expect((await scene.pod()).metadata.deletionTimestamp).toBeUndefined();
    await scene.client.delete(SandboxPools, { namespace: "ns", name: "py" }, { propagationPolicy: "Orphan" });
    await clock.step(5_000);
    await scene.pod();
    await scene.reconcile(blind);
    expect((await scene.pod()).metadata.deletionTimestamp).toBeDefined();
  });
});

test("a pod without a phase that we know is not judged", async () => {
  await using world = await embeddedPodScene();
  const { scene } = world;
  await scene.annotate({}, { [labelKeys.sandboxPhase]: "hibernating" });
  await scene.nodeReports({ phase: "Failed" });
  await scene.reconcile();
  expect((await scene.pod()).metadata.deletionTimestamp).toBeUndefined();
  expect(planFinishStart(await scene.pod(), 0).kind).toBe("nothing");
});
