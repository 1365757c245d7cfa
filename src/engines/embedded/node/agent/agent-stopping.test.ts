import { describe, expect, test } from "vitest";
import { Pods } from "#model/pod.ts";
import { settle } from "../../../../../test/world/stepped-clock.ts";
import { aContainer, NodeWorld } from "../../../../../test/world/node-world.ts";

const key = { namespace: "default", name: "a" };

describe("deleting a pod", () => {
  test("stops its containers, frees its slot and then lets the object go", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a");
    await world.deletePod("a");
    expect(world.runtime.signals.map(({ signal }) => signal)).toEqual(["SIGTERM"]);
    expect(world.runtime.present()).toEqual([]);
    expect(await world.pod("a")).toBeUndefined();
    expect(await world.events("Killing")).toMatchObject([{ message: "Stopping container main" }]);
  });

  test("the object stays until everything of it is gone", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(() => ({ onStop: { endsAfterMs: 3_000 } }));
    await world.createPod("a");
    world.runtime.delay("removePod", 500);
    await world.deletePod("a");
    await world.step(2_999);
    expect(await world.containerStatus("a")).toMatchObject({ state: { running: {} }, ready: false });
    await world.step(400);
    expect((await world.thePod("a")).status).toMatchObject({
      phase: "Succeeded",
      containerStatuses: [{ state: { terminated: { exitCode: 0 } } }],
    });
    await world.step(200);
    expect(await world.pod("a")).toBeUndefined();
  });

  test("a container that does not stop is killed when the grace period is over", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(() => ({ onStop: "ignores" }));
    await world.createPod("a", { terminationGracePeriodSeconds: 20 });
    await world.deletePod("a");
    await world.step(19_999);
    expect(world.runtime.signals.map(({ signal }) => signal)).toEqual(["SIGTERM"]);
    await world.step(1);
    expect(world.runtime.signals.map(({ signal }) => signal)).toEqual(["SIGTERM", "SIGKILL"]);
    expect(await world.pod("a")).toBeUndefined();
  });

  test("a second delete shortens the grace period", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(() => ({ onStop: "ignores" }));
    await world.createPod("a", { terminationGracePeriodSeconds: 600 });
    await world.deletePod("a");
    await world.step(5_000);
    await world.deletePod("a", 10);
    await world.step(4_999);
    expect(await world.pod("a")).toBeDefined();
    await world.step(1);
    expect(await world.pod("a")).toBeUndefined();
  });

  test("all containers are stopped at the same time", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(() => ({ onStop: { endsAfterMs: 3_000 } }));
    await world.createPod("a", { containers: [aContainer(), aContainer({ name: "side" })] });
    await world.deletePod("a");
    await world.step(3_000);
    expect(await world.pod("a")).toBeUndefined();
  });

  test("a forced delete leaves nothing on the machine", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a");
    await world.deletePod("a", 0);
    expect(world.runtime.present()).toEqual([]);
  });

  test("a pod that took the name of one that was deleted by force is another pod", async () => {
    await using world = await NodeWorld.start();
    const first = await world.createPod("a");
    await world.store.delete(Pods, key, { gracePeriodSeconds: 0 });
    const second = await world.createPod("a");
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    expect(world.runtime.present()).toMatchObject([{ uid: second.metadata.uid }]);
    expect((await world.thePod("a")).status).toMatchObject({ phase: "Running", containerStatuses: [{ restartCount: 0 }] });
  });

  test("finalizers hold the object, not the containers; its last status stays readable", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { finalizers: ["agentbox.navix.sh/sandbox-protection"] });
    await world.deletePod("a");
    expect(world.runtime.present()).toEqual([]);
    const held = await world.thePod("a");
    expect(held.metadata.deletionGracePeriodSeconds).toBe(0);
    expect(held.status).toMatchObject({ phase: "Succeeded", containerStatuses: [{ state: { terminated: { exitCode: 0 } } }] });
    await world.step(120_000);
    expect((await world.thePod("a")).metadata.resourceVersion).toBe(held.metadata.resourceVersion);
    await world.patchPod("a", { metadata: { finalizers: null } });
    expect(await world.pod("a")).toBeUndefined();
  });

  test("a pod that never got as far as a container is let go", async () => {
    await using world = await NodeWorld.start();
    world.images.pullFor(() => 3_600_000);
    await world.createPod("a");
    await world.deletePod("a");
    expect(await world.pod("a")).toBeUndefined();
    expect(world.runtime.present()).toEqual([]);
    expect(world.images.asked[0]?.options.signal?.aborted).toBe(true);
  });

  test("a pod that waits for its next start is not started again", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(() => ({ exitsAfterMs: 0, exitCode: 1 }));
    await world.createPod("a", { finalizers: ["example.com/hold"] });
    await world.deletePod("a");
    await world.step(60_000);
    expect(world.runtime.starts).toHaveLength(2);
    expect((await world.thePod("a")).status).toMatchObject({
      phase: "Failed",
      containerStatuses: [{ state: { terminated: { exitCode: 1 } } }],
    });
  });

  test("a runtime that fails to clean up is asked again", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a");
    world.runtime.fail("removePod", { message: "device busy", times: 3 });
    await world.deletePod("a");
    await world.step(1_000);
    expect(world.runtime.present()).toEqual([]);
    expect(await world.pod("a")).toBeUndefined();
    expect(world.logged.lines.filter(({ msg }) => msg === "action on a pod failed")).toHaveLength(3);
  });

  test("the image's own stop signal is used", async () => {
    await using world = await NodeWorld.start();
    world.images.configure({ stopSignal: "SIGQUIT" });
    await world.createPod("a");
    await world.deletePod("a");
    expect(world.runtime.signals.map(({ signal }) => signal)).toEqual(["SIGQUIT"]);
  });

  test("a killed container that does not end is taken away by force", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { terminationGracePeriodSeconds: 1 });
    world.runtime.behave(() => ({ onStop: "ignores" }));
    // A process in uninterruptible sleep: signals are accepted and do nothing.
    world.runtime.signalContainer = async () => {};
    await world.deletePod("a");
    await world.step(1_000 + 9_999);
    expect(await world.pod("a")).toBeDefined();
    await world.step(1);
    expect(await world.pod("a")).toBeUndefined();
  });
});

describe("hooks", () => {
  test("preStop runs before the signal, and its time counts", async () => {
    await using world = await NodeWorld.start();
    world.runtime.answerExec(() => ({ code: 0, afterMs: 3_000 }));
    await world.createPod("a", { containers: [aContainer({ lifecycle: { preStop: { exec: { command: ["drain"] } } } })] });
    await world.deletePod("a");
    expect(world.runtime.execs).toEqual([{ name: "main", argv: ["drain"] }]);
    expect(world.runtime.signals).toEqual([]);
    await world.step(3_000);
    expect(world.runtime.signals.map(({ signal }) => signal)).toEqual(["SIGTERM"]);
    expect(await world.pod("a")).toBeUndefined();
  });

  test("a preStop hook that uses up the grace period leaves two seconds for the signal", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(() => ({ onStop: "ignores" }));
    world.runtime.answerExec(() => ({ code: 0, afterMs: 3_600_000 }));
    await world.createPod("a", {
      terminationGracePeriodSeconds: 10,
      containers: [aContainer({ lifecycle: { preStop: { exec: { command: ["drain"] } } } })],
    });
    await world.deletePod("a");
    await world.step(10_000);
    expect(world.runtime.signals.map(({ signal }) => signal)).toEqual(["SIGTERM"]);
    await world.step(2_000);
    expect(world.runtime.signals.map(({ signal }) => signal)).toEqual(["SIGTERM", "SIGKILL"]);
    expect(await world.events("FailedPreStopHook")).toHaveLength(1);
    expect(await world.pod("a")).toBeUndefined();
  });

  test("a preStop hook that fails does not keep the container", async () => {
    await using world = await NodeWorld.start();
    world.network.answer = () => 500;
    await world.createPod("a", { containers: [aContainer({ lifecycle: { preStop: { httpGet: { path: "/stop", port: 8080 } } } })] });
    await world.deletePod("a");
    await settle();
    expect(world.network.requests).toMatchObject([{ address: "10.88.0.2", port: 8080, path: "/stop" }]);
    expect(await world.pod("a")).toBeUndefined();
  });

  test("until its postStart hook is done a container is not ready", async () => {
    await using world = await NodeWorld.start();
    world.runtime.answerExec(() => ({ code: 0, afterMs: 2_000 }));
    await world.createPod("a", { containers: [aContainer({ lifecycle: { postStart: { exec: { command: ["warm-up"] } } } })] });
    expect(await world.containerStatus("a")).toMatchObject({ state: { running: {} }, started: false, ready: false });
    await world.step(2_000);
    expect(await world.containerStatus("a")).toMatchObject({ started: true, ready: true });
  });

  test("a postStart hook that fails ends the container, and it is started again", async () => {
    await using world = await NodeWorld.start();
    let answers = 0;
    world.runtime.answerExec(() => ({ code: answers++ === 0 ? 1 : 0 }));
    await world.createPod("a", { containers: [aContainer({ lifecycle: { postStart: { exec: { command: ["warm-up"] } } } })] });
    await world.step(1_000);
    expect(await world.containerStatus("a")).toMatchObject({ restartCount: 1, ready: true });
    expect(await world.events("FailedPostStartHook")).toMatchObject([{ message: "PostStartHook failed" }]);
    expect(await world.events("Killing")).toMatchObject([{ message: "Container main failed its postStart hook, will be restarted" }]);
  });

  test("a hook may simply wait", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { containers: [aContainer({ lifecycle: { preStop: { sleep: { seconds: 4 } } } })] });
    await world.deletePod("a");
    await world.step(3_999);
    expect(world.runtime.signals).toEqual([]);
    await world.step(1);
    expect(await world.pod("a")).toBeUndefined();
  });
});
