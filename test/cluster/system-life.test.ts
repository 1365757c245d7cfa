/** The life of a sandbox and of its pod as real kubelets live it: what shows only where containers are theirs. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { AgentBoxClient } from "#client/agentbox-client.ts";
import type { Sandbox } from "#client/sandbox-types.ts";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import { podCondition, poolOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { isTerminalStatus } from "#model/sandbox-record.ts";
import { clusterLayout } from "../../tools/cluster/layout.ts";
import { push, until } from "./cluster-under-test.ts";
import { SystemWorld } from "./system-world.ts";

let world: SystemWorld;
let api: AgentBoxClient;

beforeAll(async () => {
  world = await SystemWorld.open(inject("cluster"));
  await world.start();
  api = await world.api();
}, 120_000);
afterAll(() => world[Symbol.asyncDispose](), 120_000);

async function podsOf(pool: string): Promise<readonly Pod[]> {
  return (await world.pods()).filter((pod) => poolOf(pod) === pool && pod.metadata.deletionTimestamp === undefined);
}

/** All pods of the pool, once there are so many and all of them wait for a sandbox. */
async function idle(pool: string, count: number): Promise<readonly Pod[]> {
  return until(async () => {
    const pods = await podsOf(pool);
    const states = pods.map((pod) => `${sandboxPhaseOf(pod)} ${podCondition(pod, "Ready")?.status}`);
    expect(states).toEqual(Array.from({ length: count }, () => "idle True"));
    return pods;
  });
}

async function theIdle(pool: string): Promise<Pod> {
  const [pod] = await idle(pool, 1);
  if (pod === undefined) throw new Error("one was waited for");
  return pod;
}

async function create(poolName: string, wish: object = {}): Promise<Sandbox> {
  return (await api.sandboxes.create({ poolName, ...wish })).sandbox;
}

async function sh(sandbox: Sandbox, script: string): Promise<string> {
  const { exitCode, stdout, stderr } = await api.sandboxes.exec(sandbox.sandboxId, { command: ["sh", "-c", script] });
  if (exitCode !== 0) throw new Error(`exit code ${exitCode}: ${stderr}`);
  return stdout;
}

async function recordOf({ sandboxId }: Sandbox): Promise<Sandbox> {
  return until(async () => {
    const seen = await api.sandboxes.get(sandboxId);
    expect(seen.status).toSatisfy(isTerminalStatus);
    return seen;
  });
}

const containerOf = (pod: Pod | undefined) => pod?.status?.containerStatuses?.[0];
const usesOf = (pod: Pod): number => Number(pod.metadata.annotations?.[annotationKeys.useCount] ?? 0);

test("a create for the image that waits takes the container as it waits, and its log is read", async () => {
  await world.pool("same", { replicas: 1 });
  const before = await theIdle("same");
  const made = await create("same");
  expect(made).toMatchObject({ status: "Running", podName: before.metadata.name, node: "agentbox" });
  expect(await sh(made, "echo hello from the log > /proc/1/fd/1; echo hello")).toBe("hello\n");
  await until(async () => {
    const { lines } = await api.sandboxes.logs(made.sandboxId, { tail: 1 });
    expect(lines).toEqual(["hello from the log"]);
  });
  const [after] = await podsOf("same");
  expect(containerOf(after)).toMatchObject({ containerID: containerOf(before)?.containerID, restartCount: 0 });
  await api.sandboxes.end(made.sandboxId);
  expect(await recordOf(made)).toMatchObject({ status: "Completed", containerId: containerOf(before)?.containerID });
});

test("another image comes into the pod that waits, in its place, and goes with the sandbox", async () => {
  const image = await push({ name: "tests/system-other:1", files: { which: "the other" } });
  await world.pool("swapped", { replicas: 1 });
  const before = await theIdle("swapped");
  const made = await create("swapped", { image });
  expect(made).toMatchObject({ status: "Running", podName: before.metadata.name });
  expect(await sh(made, "cat /which")).toBe("the other");
  const during = await until(async () => {
    const [pod] = await podsOf("swapped");
    expect([containerOf(pod)?.restartCount, sandboxPhaseOf(pod as Pod)]).toEqual([1, "running"]);
    return pod;
  });
  expect(during?.status?.podIP).toBe(before.status?.podIP);
  await api.sandboxes.end(made.sandboxId);
  const { containerImages } = await recordOf(made);
  expect(Object.values(containerImages)).toEqual([expect.stringContaining("tests/system-other")]);
  const after = await theIdle("swapped");
  expect([after.metadata.uid, containerOf(after)?.imageID]).toEqual([before.metadata.uid, containerOf(before)?.imageID]);
});

test("I2: one pod carries ten sandboxes one after another, none finds anything of another, and no start is held back", async () => {
  await world.pool("again", { replicas: 1 });
  const first = await theIdle("again");
  const waitedFor = new Set<string>();
  for (let use = 1; use <= 10; use++) {
    const made = await create("again");
    expect(made.podName).toBe(first.metadata.name);
    expect(await sh(made, "ls /root/mine /tmp/mine 2>/dev/null || true; touch /root/mine /tmp/mine; echo $$ > /dev/shm/mine")).toBe("");
    await api.sandboxes.end(made.sandboxId);
    await until(async () => {
      const [pod] = await podsOf("again");
      const { state, ready } = containerOf(pod) ?? {};
      if (state?.waiting?.reason !== undefined) waitedFor.add(state.waiting.reason);
      expect([sandboxPhaseOf(pod as Pod), usesOf(pod as Pod), ready]).toEqual(["idle", use, true]);
    });
  }
  expect([...waitedFor]).not.toContain("CrashLoopBackOff");
  const last = await theIdle("again");
  expect([last.metadata.uid, last.status?.podIP, containerOf(last)?.restartCount]).toEqual([first.metadata.uid, first.status?.podIP, 10]);
}, 300_000);

test("a sandbox that nobody uses ends by its idle timeout", async () => {
  await world.pool("unused", { replicas: 1 });
  await theIdle("unused");
  const made = await create("unused", { idleTimeout: "1s" });
  expect(await recordOf(made)).toMatchObject({ status: "Released", failureReason: "IdleTimeout" });
});

test("I4: a pool grows and shrinks to its size, and the pod of a sandbox stays", async () => {
  await world.pool("sized", { replicas: 1 });
  await theIdle("sized");
  const made = await create("sized");
  await world.resize("sized", 4);
  await until(async () => {
    const phases = (await podsOf("sized")).map((pod) => `${sandboxPhaseOf(pod)} ${podCondition(pod, "Ready")?.status}`);
    expect(phases.toSorted()).toEqual(["idle True", "idle True", "idle True", "running True"]);
  });
  await world.resize("sized", 1);
  await until(async () => expect((await world.pods()).filter((pod) => poolOf(pod) === "sized")).toHaveLength(1));
  expect(await sh(made, "echo still here")).toBe("still here\n");
  expect((await podsOf("sized")).map(({ metadata }) => metadata.name)).toEqual([made.podName]);
});

describe("a container that is killed", () => {
  async function killContainer(pod: Pod | undefined): Promise<void> {
    const id = (containerOf(pod)?.containerID ?? "").replace("containerd://", "");
    const where = ["-a", clusterLayout().containerdSocket, "-n", "k8s.io"];
    await runCommand([join(world.cluster.bin, "ctr"), ...where, "tasks", "kill", "-s", "SIGKILL", id]);
  }

  test("ends its sandbox, which says so in its record, and the pool is full again", async () => {
    await world.pool("killed", { replicas: 1 });
    await theIdle("killed");
    const made = await create("killed");
    await killContainer((await podsOf("killed"))[0]);
    expect(await recordOf(made)).toMatchObject({ status: "Failed", failureReason: "Error", exitCode: 137 });
    await theIdle("killed");
    const next = await create("killed");
    expect(await sh(next, "echo works")).toBe("works\n");
  });

  test("while it waited is started again, and the next create finds one that answers", async () => {
    await world.pool("killed-idle", { replicas: 1 });
    const before = await theIdle("killed-idle");
    await killContainer(before);
    await until(async () => expect(containerOf((await podsOf("killed-idle"))[0])?.containerID).not.toBe(containerOf(before)?.containerID));
    await theIdle("killed-idle");
    const made = await create("killed-idle");
    expect(await sh(made, "echo works")).toBe("works\n");
  });
});

test("pausing, which no kubelet can, is refused before anything is changed", async () => {
  await world.pool("refusing", { replicas: 1 });
  await theIdle("refusing");
  const made = await create("refusing");
  const refused = { code: "not_implemented" };
  await expect(api.sandboxes.pause(made.sandboxId)).rejects.toMatchObject(refused);
  await expect(create("refusing", { onTimeout: "pause", lifetime: "1h" })).rejects.toMatchObject(refused);
  expect(await sh(made, "echo still here")).toBe("still here\n");
  expect(await api.sandboxes.get(made.sandboxId)).toMatchObject({ status: "Running" });
});

test("nothing of all that was worth an error in the log", () => {
  const errors = world.process.complaints.filter(({ level }) => level === "error" || level === "fatal");
  expect(errors).toEqual([]);
});
