import { describe, expect, test } from "vitest";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import { Pods } from "#model/pod.ts";
import type { Activity } from "#sandbox/end.ts";
import { embeddedPodScene } from "../../../test/world/embedded-scenes.ts";
import { image, type PodScene } from "../../../test/world/pod-scene.ts";
import { settle } from "../../../test/world/stepped-clock.ts";
import { SimulatedProcess } from "../../../test/world/simulated-process.ts";
import { ArmingWatch } from "./arming-watch.ts";
import { ClaimSight } from "./claim-sight.ts";
import { unseenActivity } from "./timeout-deps.ts";

const fast = { images: { main: image("idle") } };
const phaseOf = async (scene: PodScene) => sandboxPhaseOf(await scene.pod());
const after = (ms: number) => ({ afterMs: ms, exact: true });
const seen = (activity: Activity) => ({ lastActive: { activityOf: async () => activity } });

describe("startup timeout", () => {
  test("W7: a sandbox that does not start fails at its timeout, and says why", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    const pod = await scene.claim({ startupTimeoutMs: 30_000 });
    const [container] = pod.status?.containerStatuses ?? [];
    if (container === undefined) throw new Error("no container");
    const waiting = { reason: "ImagePullBackOff", message: "no such image" };
    await scene.nodeReports({ containerStatuses: [{ ...container, ready: false, state: { waiting } }] });
    expect(await scene.reconcileTimeouts()).toEqual(after(30_000));
    await clock.step(30_000);
    await scene.reconcileTimeouts();
    expect(await phaseOf(scene)).toBe("stopping");
    await scene.reconcile();
    const record = await scene.record();
    expect(record).toMatchObject({ status: "Failed", failureReason: "StartupTimeout" });
    expect(record?.failureMessage).toMatch(/within 30 s.*ImagePullBackOff.*no such image/);
    expect(scene.told).toHaveLength(1);
    expect(await scene.metric("agentbox_inplace_update_total")).toContain('exchange="starting",result="failed"} 1');
  });

  test("a start without a limit of its own has its pool's, or else ours", async () => {
    await using pooled = await embeddedPodScene({ pool: { defaultStartupTimeout: "90s" } });
    await pooled.scene.claim();
    expect(await pooled.scene.reconcileTimeouts()).toEqual(after(90_000));
    await using bare = await embeddedPodScene();
    await bare.scene.claim();
    expect(await bare.scene.reconcileTimeouts()).toEqual(after(120_000));
  });

  test("I11: one that is armed stays, even if its node has not reported the new container", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    await scene.claim();
    scene.answer = { sandboxId: "i1" };
    await clock.step(120_000);
    expect(await scene.reconcileTimeouts()).toEqual(after(30_000));
    expect(await phaseOf(scene)).toBe("starting");
  });
});

describe("a start of which its node has not told anything", () => {
  test("I11: a daemon that does not answer once is asked again before the sandbox is given up", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    await scene.claim({ startupTimeoutMs: 30_000 });
    await clock.step(30_000);
    expect(await scene.reconcileTimeouts()).toEqual(after(750));
    scene.answer = { sandboxId: "i1" };
    await clock.step(750);
    await scene.reconcileTimeouts();
    expect(await phaseOf(scene)).toBe("starting");
  });

  test("W7: one that never answers ends the start a quarter of a minute later", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    await scene.claim({ startupTimeoutMs: 30_000 });
    await clock.step(30_000);
    for (let waited = 0; waited < 15_000;) {
      const { afterMs = NaN } = (await scene.reconcileTimeouts()) ?? {};
      expect(await phaseOf(scene)).toBe("starting");
      await clock.step(afterMs);
      waited += afterMs;
    }
    await scene.reconcileTimeouts();
    expect(await phaseOf(scene)).toBe("stopping");
  });
});

describe("arming", () => {
  test("a claim whose process died before arming is released when its startup timeout is over", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    await scene.claim(fast);
    scene.answer = {};
    expect(await scene.reconcileTimeouts()).toEqual(after(120_000));
    expect(scene.asked).toEqual([]);
    await clock.step(120_000);
    await scene.reconcileTimeouts();
    await scene.pod();
    await scene.reconcile();
    expect(await scene.record()).toMatchObject({ status: "Failed", failureReason: "StartupTimeout" });
  });

  test("I11: an armed sandbox stays, and is asked once", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    await scene.claim(fast);
    scene.answer = { sandboxId: "i1" };
    await clock.step(120_000);
    expect(await scene.reconcileTimeouts()).toBeUndefined();
    await clock.step(3_600_000);
    expect(await scene.reconcileTimeouts()).toBeUndefined();
    expect(scene.asked).toEqual(["10.0.0.7:49983"]);
  });

  test("after a start of the control plane overdue sandboxes are asked over a minute, not at once", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    await scene.claim(fast);
    await clock.step(3_600_000);
    expect(await scene.reconcileTimeouts()).toEqual(after(30_000));
    expect(scene.asked).toEqual([]);
  });

  test("a silent daemon is asked again more and more seldom, and ends nothing while its node says it is ready", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    await scene.claim(fast);
    await clock.step(120_000);
    const waits: number[] = [];
    for (let time = 0; time < 1_200_000;) {
      const { afterMs = NaN } = (await scene.reconcileTimeouts()) ?? {};
      waits.push(afterMs);
      await clock.step(afterMs);
      time += afterMs;
    }
    expect(await phaseOf(scene)).toBe("running");
    expect(waits.slice(0, 3)).toEqual([750, 1_500, 3_000]);
    expect(Math.max(...waits)).toBeLessThanOrEqual(60_000);
    await scene.nodeReports({ conditions: [{ type: "Ready", status: "False" }] });
    await scene.reconcileTimeouts();
    expect(await phaseOf(scene)).toBe("stopping");
  });

  test("I11: whoever's clock is ahead waits for the arming of a claim as long as it may take, from when he saw it", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    const controllers = new SimulatedProcess(clock, 600_000);
    const sight = new ClaimSight(controllers);
    const stop = sight.follow(scene.cache.pods);
    const arming = new ArmingWatch({ daemon: scene.deps.daemon, clock: controllers, random: () => 0 });
    const deps = { ...scene.timeoutDeps, clock: controllers, sight, arming };
    scene.answer = {};
    await scene.claim({ ...fast, startupTimeoutMs: 30_000 });
    await settle();
    const first = await scene.reconcileTimeouts(deps);
    expect(first?.afterMs).toBe(30_000);
    expect([scene.asked, await phaseOf(scene)]).toEqual([[], "running"]);
    controllers.setTimeOfDay(600_000);
    await clock.step(29_999);
    await scene.reconcileTimeouts(deps);
    expect([scene.asked, await phaseOf(scene)]).toEqual([[], "running"]);
    await clock.step(1);
    await scene.reconcileTimeouts(deps);
    expect(await phaseOf(scene)).toBe("stopping");
    stop();
  });

  test("another pod at the address says nothing about this one", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    await scene.claim(fast);
    scene.answer = { podUid: "another" };
    await clock.step(120_000);
    await scene.reconcileTimeouts();
    expect(await phaseOf(scene)).toBe("running");
  });
});

describe("idle timeout and end time", () => {
  const idle = { ...fast, idleTimeoutMs: 60_000, startupTimeoutMs: 1_000_000 };

  test("a sandbox without traffic is released after its idle timeout and the time in which traffic becomes known", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    await scene.claim(idle);
    expect(await scene.reconcileTimeouts()).toEqual(after(90_000));
    await clock.step(90_000);
    await scene.reconcileTimeouts();
    await scene.pod();
    await scene.reconcile();
    expect(await scene.record()).toMatchObject({ status: "Released", failureReason: "IdleTimeout" });
    expect(scene.told).toEqual([]);
  });

  test("W21: an open stream is traffic as long as it lasts, whatever the pod says", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    await scene.claim(idle);
    await clock.step(90_000);
    expect(await scene.reconcileTimeouts(seen({ kind: "known", inUse: true }))).toEqual(after(90_000));
    expect(await phaseOf(scene)).toBe("running");
  });

  test("unknown activity ends nothing, and is asked for again", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    await scene.claim(idle);
    await clock.step(900_000);
    expect(await scene.reconcileTimeouts({ lastActive: unseenActivity })).toEqual(after(30_000));
    expect(await phaseOf(scene)).toBe("running");
  });

  test("traffic that a gateway knows of moves the end", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    await scene.claim(idle);
    await clock.step(90_000);
    const lastActiveMs = clock.now() - 10_000;
    expect(await scene.reconcileTimeouts(seen({ kind: "known", inUse: false, lastActiveMs }))).toEqual(after(80_000));
  });

  test("the end time ends a sandbox that is in use", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    await scene.claim({ ...idle, endTimeMs: clock.now() + 50_000 });
    expect(await scene.reconcileTimeouts()).toEqual(after(50_000));
    await clock.step(50_000);
    await scene.reconcileTimeouts(seen({ kind: "known", inUse: true }));
    await scene.pod();
    await scene.reconcile();
    expect(await scene.record()).toMatchObject({ status: "Released", failureReason: "MaxLifetime" });
  });

  test("a sandbox that wants it so is paused instead, once", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    await scene.claim({ ...fast, endTimeMs: clock.now() + 50_000, onTimeout: "pause" });
    await clock.step(50_000);
    await scene.reconcileTimeouts();
    const paused = await scene.pod();
    expect(paused.metadata.annotations?.[annotationKeys.paused]).toBe(new Date(clock.now()).toISOString());
    expect(sandboxPhaseOf(paused)).toBe("running");
    await clock.step(600_000);
    expect(await scene.reconcileTimeouts()).toBeUndefined();
    expect((await scene.pod()).metadata.resourceVersion).toBe(paused.metadata.resourceVersion);
  });

  test("a sandbox that was given more time meanwhile is not ended by what was seen before", async () => {
    await using world = await embeddedPodScene();
    const { scene, clock } = world;
    await scene.claim({ ...fast, endTimeMs: clock.now() + 50_000 });
    await clock.step(50_000);
    const later = new Date(clock.now() + 60_000).toISOString();
    const digests = {
      resolve: async (name: string) => {
        // The owner is faster than the end that was already decided.
        await scene.client.patch(Pods, scene.key, {
          type: "merge",
          body: { metadata: { annotations: { [annotationKeys.endTime]: later } } },
        });
        return scene.timeoutDeps.digests.resolve(name, { signal: new AbortController().signal });
      },
    };
    await scene.reconcileTimeouts({ digests });
    expect(await phaseOf(scene)).toBe("running");
    expect(await scene.reconcileTimeouts()).toEqual(after(60_000));
  });
});
