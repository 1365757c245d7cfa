/** The agent of a node as its operators meet it: not there, killed, started again; on real kubelets. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { kubernetesClient, type KubernetesClient } from "#engines/kubernetes/client.ts";
import { isApiError } from "#kube/api-error.ts";
import { Leases } from "#model/core-kinds.ts";
import { isFrozen, pauseWish } from "#model/pause.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { installNodeAgent } from "./chart-node-agent.ts";
import { kubectl } from "./cluster-under-test.ts";
import { SystemWorld } from "./system-world.ts";

async function openWorld(): Promise<SystemWorld> {
  const world = await SystemWorld.open(inject("cluster"));
  await world.pool("base", { replicas: 1 });
  await world.start();
  return world;
}

/** With the agent of the chart. */
async function openWorldOfChart(): Promise<SystemWorld> {
  const world = await openWorld();
  onTestFinished(await installNodeAgent(world));
  return world;
}

async function thePod(world: SystemWorld): Promise<Pod | undefined> {
  return (await world.pods())[0];
}

test("where there is no agent a pause is refused and nothing is changed; with one it is done", async () => {
  await using world = await openWorld();
  const { sandboxes } = await world.api();
  const { sandbox } = await sandboxes.create({ poolName: "base" });
  await expect(sandboxes.pause(sandbox.sandboxId)).rejects.toMatchObject({ status: 501, code: "not_implemented" });
  const pod = await thePod(world);
  expect(pod && pauseWish(pod)).toBeUndefined();
  await world.agent.start();
  await expect.poll(() => sandboxes.pause(sandbox.sandboxId), { timeout: 30_000 }).toMatchObject({ status: "Paused" });
});

test("an agent that is killed leaves sandboxes paused; the next one wakes those that were resumed meanwhile", async () => {
  await using world = await openWorld();
  const { sandboxes } = await world.api();
  await world.agent.start();
  const { sandbox } = await sandboxes.create({ poolName: "base" });
  const id = sandbox.sandboxId;
  await expect.poll(() => sandboxes.pause(id), { timeout: 30_000 }).toMatchObject({ status: "Paused" });
  await world.agent.kill();
  const resuming = sandboxes.resume(id);
  await expect.poll(async () => pauseWish((await thePod(world)) as Pod), { timeout: 20_000 }).toBeUndefined();
  const pod = (await thePod(world)) as Pod;
  expect(isFrozen(pod)).toBe(true);
  await world.agent.start();
  expect(await resuming).toMatchObject({ status: "Running" });
  expect(await sandboxes.exec(id, { command: ["echo", "awake"] })).toMatchObject({ stdout: "awake\n" });
});

test("a paused pod whose agent is dead can be deleted: the kubelet's last signal wakes what it kills", async () => {
  await using world = await openWorld();
  const { sandboxes } = await world.api();
  await world.agent.start();
  const { sandbox } = await sandboxes.create({ poolName: "base" });
  await expect.poll(() => sandboxes.pause(sandbox.sandboxId), { timeout: 30_000 }).toMatchObject({ status: "Paused" });
  await world.agent.kill();
  const key = { namespace: world.namespace, name: sandbox.podName };
  await world.client.delete(Pods, key);
  const gone = async (): Promise<boolean> => {
    const found = await world.client
      .get(Pods, key)
      .catch((error: unknown) => (isApiError(error, "NotFound") ? undefined : Promise.reject(error)));
    return found === undefined;
  };
  await expect.poll(gone, { timeout: 60_000 }).toBe(true);
  await expect.poll(() => sandboxes.get(sandbox.sandboxId), { timeout: 30_000 }).toMatchObject({ failureReason: "PodDeleted" });
});

test("the agent of the chart, as a pod with its rights and no capability, pauses and wakes sandboxes of its node", async () => {
  await using world = await openWorldOfChart();
  const { sandboxes } = await world.api();
  const { sandbox } = await sandboxes.create({ poolName: "base" });
  const id = sandbox.sandboxId;
  await expect.poll(() => sandboxes.pause(id), { timeout: 30_000 }).toMatchObject({ status: "Paused" });
  expect(await sandboxes.resume(id)).toMatchObject({ status: "Running" });
  expect(await sandboxes.exec(id, { command: ["echo", "awake"] })).toMatchObject({ stdout: "awake\n" });
});

/** With the account of the chart's agent, and with that of a pod on no node. */
async function onNoNode(world: SystemWorld, use: (client: KubernetesClient) => Promise<void>): Promise<void> {
  const { namespace } = world;
  const token = (await kubectl(["-n", namespace, "create", "token", `${namespace}-node`])).trim();
  const { clusters = [] } = JSON.parse(await kubectl(["config", "view", "--raw", "--minify", "-o", "json"])) as {
    readonly clusters?: readonly object[];
  };
  const [cluster] = clusters.map((one) => ({ ...one, name: "c" }));
  const contexts = [{ name: "x", context: { cluster: "c", user: "u" } }];
  const file = join(await mkdtemp(join(tmpdir(), "agentbox-agent-")), "kubeconfig");
  await writeFile(file, JSON.stringify({ "current-context": "x", clusters: [cluster], contexts, users: [{ name: "u", user: { token } }] }));
  const client = await kubernetesClient({ kubeconfig: file });
  try {
    await use(client);
  } finally {
    await client.close();
    await rm(dirname(file), { recursive: true });
  }
}

test("who has the rights of an agent and is not on the pod's node cannot write of it, nor take a lease that is not its own", async () => {
  await using world = await openWorldOfChart();
  const { namespace } = world;
  const pod = { namespace, name: (await thePod(world))?.metadata.name ?? "" };
  await onNoNode(world, async (client) => {
    const told = { type: "merge", body: { status: { message: "mine" } } } as const;
    await expect(client.patch(Pods, pod, told, { subresource: "status" })).rejects.toThrow("of its own node only");
    const taken = { type: "merge", body: { spec: { holderIdentity: "me" } } } as const;
    await expect(client.patch(Leases, { namespace, name: "agentbox-controllers" }, taken)).rejects.toThrow("its own lease only");
  });
});
