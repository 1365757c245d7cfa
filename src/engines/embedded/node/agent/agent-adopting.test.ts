import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Pods } from "#model/pod.ts";
import { eventually } from "../../../../../test/world/eventually.ts";
import { aContainer, NodeWorld } from "../../../../../test/world/node-world.ts";

describe("a new agent", () => {
  test("takes over running containers as they are: nothing is restarted and nothing is written", async () => {
    await using world = await NodeWorld.start();
    const readinessProbe = { httpGet: { path: "/", port: 80 } };
    await world.createPod("a", { containers: [aContainer({ readinessProbe }), aContainer({ name: "side" })] });
    await world.step(1_000);
    const before = await world.thePod("a");
    world.crashAgent();
    await world.startAgent();
    await world.step(60_000);
    expect(world.runtime.starts).toHaveLength(2);
    expect(await world.thePod("a")).toEqual(before);
  });

  test("keeps a ready container ready until a probe says otherwise", async () => {
    await using world = await NodeWorld.start();
    const readinessProbe = { httpGet: { path: "/", port: 80 }, periodSeconds: 10, failureThreshold: 1 };
    await world.createPod("a", { containers: [aContainer({ readinessProbe })] });
    await world.step(100);
    world.crashAgent();
    world.network.answer = () => 500;
    await world.startAgent();
    expect(await world.containerStatus("a")).toMatchObject({ ready: true });
    await world.step(10_000);
    expect(await world.containerStatus("a")).toMatchObject({ ready: false });
  });

  test("sees what ended while nobody looked", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { restartPolicy: "Never" });
    world.crashAgent();
    world.runtime.exit(world.runtime.container("a", "main")?.id ?? "", { code: 9 });
    await world.startAgent();
    await world.step(100);
    expect((await world.thePod("a")).status).toMatchObject({
      phase: "Failed",
      containerStatuses: [{ state: { terminated: { exitCode: 9 } } }],
    });
  });

  test("starts what was made and not started, under the same number", async () => {
    await using world = await NodeWorld.start();
    world.runtime.fail("startContainer", { message: "killed in the middle", times: 1 });
    const start = world.runtime.startContainer.bind(world.runtime);
    world.runtime.startContainer = () => new Promise(() => {});
    await world.createPod("a");
    expect(world.runtime.container("a", "main")).toMatchObject({ state: "created", attempt: 0 });
    world.crashAgent();
    world.runtime.startContainer = start;
    world.runtime.fail("startContainer", { message: "", times: 0 });
    await world.startAgent();
    await world.step(100);
    expect(world.runtime.starts).toMatchObject([{ attempt: 0 }]);
    expect((await world.thePod("a")).status?.phase).toBe("Running");
  });

  test("does not try a start again that failed in the hands of another", async () => {
    await using world = await NodeWorld.start();
    world.runtime.fail("startContainer", { message: "exec: not found", times: 100 });
    await world.createPod("a", { restartPolicy: "Never" });
    expect((await world.thePod("a")).status).toMatchObject({ containerStatuses: [{ state: { terminated: { reason: "StartError" } } }] });
    world.crashAgent();
    world.runtime.fail("startContainer", { message: "", times: 0 });
    await world.startAgent();
    await world.step(60_000);
    expect(world.runtime.starts).toEqual([]);
  });

  test("removes pods that no object speaks of any more", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a");
    await world.createPod("b");
    world.crashAgent();
    await world.store.delete(Pods, { namespace: "default", name: "a" }, { gracePeriodSeconds: 0 });
    await world.startAgent();
    expect(world.runtime.present().map(({ name }) => name)).toEqual(["b"]);
  });

  test("removes what turns up on the machine later and belongs to nobody", async () => {
    await using world = await NodeWorld.start();
    await world.runtime.ensurePod({ uid: "stray", namespace: "default", name: "stray", hostname: "stray", limits: { pids: 1 } });
    await world.step(60_000);
    expect(world.runtime.present()).toEqual([]);
  });

  test("goes on with a deletion where another stopped, and by its deadline", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(() => ({ onStop: "ignores" }));
    await world.createPod("a", { terminationGracePeriodSeconds: 30 });
    await world.deletePod("a");
    await world.step(20_000);
    world.crashAgent();
    await world.step(5_000);
    await world.startAgent();
    await world.step(4_000);
    expect(await world.pod("a")).toBeDefined();
    await world.step(2_000);
    expect(await world.pod("a")).toBeUndefined();
  });

  test("goes on with an exchange of images where another stopped", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a");
    world.crashAgent();
    await world.setImage("a", "registry.invalid/app:2");
    await world.startAgent();
    await world.step(100);
    expect(await world.containerStatus("a")).toMatchObject({ image: "registry.invalid/app:2", restartCount: 1, ready: true });
  });

  test("exchanges an image under Never even if the old container ended while nobody looked", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { restartPolicy: "Never" });
    world.crashAgent();
    await world.setImage("a", "registry.invalid/app:2");
    world.runtime.exit(world.runtime.container("a", "main")?.id ?? "");
    await world.startAgent();
    await world.step(100);
    expect(await world.containerStatus("a")).toMatchObject({ image: "registry.invalid/app:2", state: { running: {} } });
  });

  test("removes the logs of pods that are gone and keeps the others", async () => {
    await using world = await NodeWorld.start();
    const pod = await world.createPod("a");
    world.crashAgent();
    const root = join(world.home, "logs", "pods");
    await mkdir(join(root, "default_gone_some-uid", "main"), { recursive: true });
    await writeFile(join(root, "default_gone_some-uid", "main", "0.log"), "old");
    await world.startAgent();
    await eventually(async () => expect(await readdir(root)).toEqual([`default_a_${pod.metadata.uid}`]));
  });
});

describe("after a reboot of the machine", () => {
  test("pods that are restarted are started anew, with their number and the loss on record", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a");
    const before = await world.containerStatus("a");
    world.crashAgent();
    world.runtime.reboot();
    await world.startAgent();
    await world.step(100);
    expect(await world.containerStatus("a")).toMatchObject({
      restartCount: 1,
      ready: true,
      lastState: { terminated: { exitCode: 137, reason: "ContainerStatusUnknown", containerID: before.containerID } },
    });
  });

  test("the loss has its cause and its time, where the node knows them; what was started later has not", async () => {
    const lost = { reason: "NodeRestarted", message: "the machine restarted", at: Date.parse("2026-01-01T00:05:00Z") } as const;
    await using world = await NodeWorld.start({ lost: { ...lost, until: Date.parse("2026-01-01T01:00:00Z") } });
    await world.createPod("a");
    world.crashAgent();
    world.runtime.reboot();
    await world.startAgent();
    await world.step(100);
    const terminated = { exitCode: 137, reason: "NodeRestarted", message: "the machine restarted", finishedAt: "2026-01-01T00:05:00Z" };
    expect(await world.containerStatus("a")).toMatchObject({ restartCount: 1, lastState: { terminated } });
    await world.step(2 * 60 * 60_000);
    await world.createPod("later");
    world.crashAgent();
    world.runtime.reboot();
    await world.startAgent();
    await world.step(100);
    expect((await world.containerStatus("later")).lastState?.terminated?.reason).toBe("ContainerStatusUnknown");
  });

  test("init containers run again, because what they prepared is gone", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(({ name }) => (name === "init" ? { exitsAfterMs: 100 } : {}));
    await world.createPod("a", { initContainers: [aContainer({ name: "init" })] });
    await world.step(200);
    world.crashAgent();
    world.runtime.reboot();
    await world.startAgent();
    await world.step(500);
    expect(world.runtime.starts.map(({ name, attempt }) => `${name} ${attempt}`)).toEqual(["init 0", "main 0", "init 1", "main 1"]);
  });

  test("pods that are never restarted have failed", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { restartPolicy: "Never" });
    world.crashAgent();
    world.runtime.reboot();
    await world.startAgent();
    await world.step(100);
    expect((await world.thePod("a")).status).toMatchObject({
      phase: "Failed",
      containerStatuses: [{ state: { terminated: { reason: "ContainerStatusUnknown", exitCode: 137 } } }],
    });
    expect(world.runtime.starts).toHaveLength(1);
  });

  test("pods that had ended stay ended", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(() => ({ exitsAfterMs: 10 }));
    await world.createPod("a", { restartPolicy: "Never" });
    await world.step(100);
    const before = await world.thePod("a");
    world.crashAgent();
    world.runtime.reboot();
    await world.startAgent();
    await world.step(60_000);
    expect(await world.thePod("a")).toEqual(before);
  });
});

describe("stopping the agent", () => {
  test("leaves containers running, and works no more", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a");
    await world.stopAgent();
    await world.createPod("b");
    await world.step(60_000);
    expect(world.runtime.present()).toMatchObject([{ name: "a", containers: [{ state: "running" }] }]);
  });

  test("a missed exit is found by looking from time to time", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a");
    await world.runtime.close();
    world.runtime.exit(world.runtime.container("a", "main")?.id ?? "", { code: 1 });
    await world.step(75_000);
    expect(await world.containerStatus("a")).toMatchObject({ restartCount: 1 });
  });
});
