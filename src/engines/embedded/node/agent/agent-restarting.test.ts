import { describe, expect, test } from "vitest";
import { aContainer, NodeWorld } from "../../../../../test/world/node-world.ts";

describe("containers that end", () => {
  test("a container that fails is started again at once the first time", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a");
    world.runtime.exit(world.runtime.container("a", "main")?.id ?? "", { code: 1 });
    await world.step(0);
    expect(world.runtime.starts.map(({ attempt }) => attempt)).toEqual([0, 1]);
    expect(await world.containerStatus("a")).toMatchObject({
      restartCount: 1,
      state: { running: {} },
      lastState: { terminated: { exitCode: 1, reason: "Error" } },
    });
  });

  test("one that goes on failing waits 10 s, then twice as long each time, up to 5 min", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(() => ({ exitsAfterMs: 0, exitCode: 1 }));
    await world.createPod("a");
    const waits: number[] = [];
    let last = world.clock.now();
    while (waits.length < 8) {
      const before = world.runtime.starts.length;
      await world.step(1_000);
      if (world.runtime.starts.length === before) continue;
      waits.push((world.clock.now() - last) / 1_000);
      last = world.clock.now();
    }
    expect(waits).toEqual([10, 20, 40, 80, 160, 300, 300, 300]);
  });

  test("while it waits it is reported as CrashLoopBackOff, and the pod as running", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(() => ({ exitsAfterMs: 0, exitCode: 7 }));
    const { metadata } = await world.createPod("a");
    expect((await world.thePod("a")).status?.phase).toBe("Running");
    expect(await world.containerStatus("a")).toMatchObject({
      ready: false,
      restartCount: 1,
      state: {
        waiting: { reason: "CrashLoopBackOff", message: `back-off 10s restarting failed container=main pod=a_default(${metadata.uid})` },
      },
      lastState: { terminated: { exitCode: 7 } },
    });
    expect(await world.events("BackOff")).toMatchObject([{ count: 1, type: "Warning" }]);
    await world.step(10_000);
    expect(await world.events("BackOff")).toMatchObject([{ count: 2 }]);
  });

  test("a container that has run for ten minutes is forgiven", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(({ attempt }) => ({ exitsAfterMs: attempt < 3 ? 0 : 11 * 60_000, exitCode: 1 }));
    await world.createPod("a");
    await world.step(10_000 + 20_000);
    expect(world.runtime.starts).toHaveLength(4);
    await world.step(11 * 60_000);
    expect(world.runtime.starts).toHaveLength(5);
  });

  test("OnFailure starts again what failed and leaves what succeeded", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(({ name, attempt }) => ({ exitsAfterMs: 100, exitCode: name === "bad" && attempt === 0 ? 1 : 0 }));
    await world.createPod("a", { restartPolicy: "OnFailure", containers: [aContainer({ name: "good" }), aContainer({ name: "bad" })] });
    await world.step(500);
    expect(world.runtime.starts.map(({ name, attempt }) => `${name} ${attempt}`)).toEqual(["good 0", "bad 0", "bad 1"]);
    expect((await world.thePod("a")).status).toMatchObject({ phase: "Succeeded" });
  });

  test("Never leaves everything as it ended: Failed if anything failed", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(({ name }) => ({ exitsAfterMs: 100, exitCode: name === "bad" ? 2 : 0 }));
    await world.createPod("a", { restartPolicy: "Never", containers: [aContainer({ name: "good" }), aContainer({ name: "bad" })] });
    await world.step(500);
    expect(world.runtime.starts).toHaveLength(2);
    expect((await world.thePod("a")).status).toMatchObject({
      phase: "Failed",
      containerStatuses: [
        { state: { terminated: { exitCode: 0, reason: "Completed" } } },
        { state: { terminated: { exitCode: 2, reason: "Error" } } },
      ],
    });
  });

  test("a pod runs as long as one of its containers does", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(({ name }) => (name === "short" ? { exitsAfterMs: 100 } : {}));
    await world.createPod("a", { restartPolicy: "Never", containers: [aContainer({ name: "short" }), aContainer({ name: "long" })] });
    await world.step(500);
    expect((await world.thePod("a")).status?.phase).toBe("Running");
    expect(await world.condition("a", "Ready")).toMatchObject({ status: "False", message: "containers with unready status: [short]" });
  });

  test("a pod that has ended frees its slot and keeps its status", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(() => ({ exitsAfterMs: 100 }));
    await world.createPod("a", { restartPolicy: "Never" });
    await world.step(500);
    expect(world.runtime.present()).toEqual([]);
    expect((await world.thePod("a")).status).toMatchObject({
      phase: "Succeeded",
      podIP: "10.88.0.2",
      containerStatuses: [{ state: { terminated: {} } }],
    });
    expect(await world.condition("a", "Ready")).toMatchObject({ status: "False", reason: "PodCompleted" });
    await world.step(3_600_000);
    expect(world.runtime.starts).toHaveLength(1);
  });

  test("a container that used up its memory is reported as OOMKilled", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a");
    world.runtime.exit(world.runtime.container("a", "main")?.id ?? "", { code: 137, signal: 9, oomKilled: true });
    await world.step(0);
    expect(await world.containerStatus("a")).toMatchObject({
      lastState: { terminated: { exitCode: 137, signal: 9, reason: "OOMKilled" } },
    });
  });

  test("the container that was replaced is removed once its end is stored, and the newest one stays", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a");
    const first = world.runtime.container("a", "main")?.id ?? "";
    world.runtime.exit(first, { code: 1 });
    await world.step(0);
    expect(world.runtime.present()[0]?.containers.map(({ attempt }) => attempt)).toEqual([1]);
    expect(await world.containerStatus("a")).toMatchObject({ lastState: { terminated: { containerID: `agentbox://${first}` } } });
  });

  test("a container that was replaced stays until its successor is ready, or five seconds", async () => {
    await using world = await NodeWorld.start();
    world.network.answer = () => 503;
    await world.createPod("a", { containers: [aContainer({ readinessProbe: { httpGet: { path: "/", port: 80 } } })] });
    await world.setImage("a", "registry.invalid/app:2");
    await world.step(4_999);
    expect(world.runtime.present()[0]?.containers).toHaveLength(2);
    await world.step(1);
    expect(world.runtime.present()[0]?.containers).toHaveLength(1);
  });

  test("the time of a condition changes only when its status does", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(({ attempt }) => ({ exitsAfterMs: attempt === 0 ? 5_000 : attempt === 1 ? 0 : 3_600_000, exitCode: 1 }));
    await world.createPod("a");
    await world.step(5_000);
    expect(await world.condition("a", "Ready")).toMatchObject({ status: "False", lastTransitionTime: "2026-01-01T00:00:05Z" });
    expect(await world.condition("a", "Initialized")).toMatchObject({ status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" });
    await world.step(10_000);
    expect(await world.condition("a", "Ready")).toMatchObject({ status: "True", lastTransitionTime: "2026-01-01T00:00:15Z" });
  });

  test("a pod that is active too long fails with DeadlineExceeded and is stopped", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { activeDeadlineSeconds: 60 });
    await world.step(59_000);
    expect((await world.thePod("a")).status?.phase).toBe("Running");
    await world.step(1_000);
    expect((await world.thePod("a")).status).toMatchObject({
      phase: "Failed",
      reason: "DeadlineExceeded",
      containerStatuses: [{ state: { terminated: {} } }],
    });
    expect(await world.events("DeadlineExceeded")).toHaveLength(1);
    expect(world.runtime.present()).toEqual([]);
  });

  test("a pod that somebody else declares failed is stopped", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a");
    const { Pods } = await import("#model/pod.ts");
    const body = { status: { phase: "Failed", reason: "Evicted" } };
    await world.store.patch(Pods, { namespace: "default", name: "a" }, { type: "merge", body }, { subresource: "status" });
    await world.step(100);
    expect(world.runtime.present()).toEqual([]);
    expect((await world.thePod("a")).status).toMatchObject({ phase: "Failed", reason: "Evicted" });
  });
});

describe("exchanging an image in place", () => {
  test("only that container is restarted, in the same slot, on a new layer", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { containers: [aContainer(), aContainer({ name: "side" })] });
    const before = {
      main: await world.containerStatus("a"),
      side: await world.containerStatus("a", "side"),
      ip: (await world.thePod("a")).status?.podIP,
    };
    await world.setImage("a", "registry.invalid/app:2");
    await world.step(0);
    const after = await world.containerStatus("a");
    expect(after).toMatchObject({
      image: "registry.invalid/app:2",
      restartCount: 1,
      ready: true,
      lastState: { terminated: { containerID: before.main.containerID } },
    });
    expect(after.containerID).not.toBe(before.main.containerID);
    expect(await world.containerStatus("a", "side")).toEqual(before.side);
    expect((await world.thePod("a")).status?.podIP).toBe(before.ip);
    expect(await world.events("Killing")).toMatchObject([{ message: "Container main definition changed, will be restarted" }]);
  });

  test("another tag beside the same digest is another container with the same content", async () => {
    await using world = await NodeWorld.start();
    const digest = `sha256:${"a".repeat(64)}`;
    await world.createPod("a", { containers: [aContainer({ image: `registry.invalid/app:1-u0@${digest}` })] });
    const before = await world.containerStatus("a");
    await world.setImage("a", `registry.invalid/app:1-u1@${digest}`);
    await world.step(0);
    const after = await world.containerStatus("a");
    expect(after.imageID).toBe(before.imageID);
    expect(after.containerID).not.toBe(before.containerID);
  });

  test("exchanging again and again, each time with a new tag, never waits", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { containers: [aContainer({ image: "registry.invalid/app:1-u0" })] });
    for (let use = 1; use <= 10; use++) {
      await world.setImage("a", `registry.invalid/app:1-u${use}`);
      await world.step(100);
    }
    expect(await world.containerStatus("a")).toMatchObject({ restartCount: 10, ready: true, image: "registry.invalid/app:1-u10" });
    expect(world.runtime.present()[0]?.containers).toHaveLength(1);
  });

  test("going back to an image that failed before waits, as on a kubelet", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a");
    world.runtime.exit(world.runtime.container("a", "main")?.id ?? "", { code: 1 });
    await world.step(0);
    await world.setImage("a", "registry.invalid/app:2");
    await world.step(0);
    await world.setImage("a", "registry.invalid/app:1");
    await world.step(0);
    expect(await world.containerStatus("a")).toMatchObject({ state: { waiting: { reason: "CrashLoopBackOff" } } });
    await world.step(10_000);
    expect(await world.containerStatus("a")).toMatchObject({ image: "registry.invalid/app:1", ready: true });
  });

  test("a pod that is never restarted still gets the new image", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { restartPolicy: "Never" });
    await world.setImage("a", "registry.invalid/app:2");
    await world.step(0);
    expect(await world.containerStatus("a")).toMatchObject({ image: "registry.invalid/app:2", restartCount: 1, state: { running: {} } });
  });

  test("one that ended before the image changed stays ended if it is never restarted", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(({ name }) => (name === "main" ? { exitsAfterMs: 100 } : {}));
    await world.createPod("a", { restartPolicy: "Never", containers: [aContainer(), aContainer({ name: "side" })] });
    await world.step(200);
    await world.setImage("a", "registry.invalid/app:2");
    await world.step(200);
    expect(world.runtime.starts).toHaveLength(2);
  });

  test("an image that cannot be had leaves the container waiting, and the right one is taken at once", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a");
    world.images.refuse((reference) => (reference.endsWith(":broken") ? new Error("manifest unknown") : undefined));
    await world.setImage("a", "registry.invalid/app:broken");
    await world.step(100);
    expect(await world.containerStatus("a")).toMatchObject({ state: { waiting: { reason: "ErrImagePull" } }, restartCount: 0 });
    await world.setImage("a", "registry.invalid/app:3");
    await world.step(100);
    expect(await world.containerStatus("a")).toMatchObject({ image: "registry.invalid/app:3", restartCount: 1, ready: true });
  });

  test("a container that was made but not started when the image changed is given up", async () => {
    await using world = await NodeWorld.start();
    world.runtime.delay("startContainer", 1_000);
    await world.createPod("a");
    world.crashAgent();
    world.runtime.delay("startContainer", 0);
    await world.setImage("a", "registry.invalid/app:2");
    world.runtime.reboot();
    await world.startAgent();
    await world.step(2_000);
    expect(await world.containerStatus("a")).toMatchObject({ image: "registry.invalid/app:2", ready: true });
    expect(world.runtime.violations).toEqual([]);
  });

  test("a container that ignores the signal is killed when its time is up", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(() => ({ onStop: "ignores" }));
    await world.createPod("a", { terminationGracePeriodSeconds: 5 });
    await world.setImage("a", "registry.invalid/app:2");
    await world.step(4_999);
    expect(world.runtime.signals.map(({ signal }) => signal)).toEqual(["SIGTERM"]);
    await world.step(1);
    expect(world.runtime.signals.map(({ signal }) => signal)).toEqual(["SIGTERM", "SIGKILL"]);
    expect(await world.containerStatus("a")).toMatchObject({
      image: "registry.invalid/app:2",
      lastState: { terminated: { exitCode: 137 } },
    });
  });

  test("without a grace period it is killed at once", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { terminationGracePeriodSeconds: 0 });
    await world.setImage("a", "registry.invalid/app:2");
    await world.step(0);
    expect(world.runtime.signals.map(({ signal }) => signal)).toEqual(["SIGKILL"]);
    expect(await world.containerStatus("a")).toMatchObject({ image: "registry.invalid/app:2", ready: true });
  });
});
