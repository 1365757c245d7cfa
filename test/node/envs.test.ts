/** The Envs of a fresh server, with real containers. */
import { expect, test } from "vitest";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import { poolOf } from "#model/claimed-pod.ts";
import { SandboxEnvs } from "#model/sandbox-env.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { UpProcess } from "../world/up-process.ts";

/** A pod that goes may be claimed for ten seconds more, and an Env is looked at every ten. */
const patiently = { timeout: 90_000 };
const base = { namespace: "default", name: "base" };

test("more sandboxes at once than pods wait are all made, and what made the Env grow is told", async () => {
  await using up = await UpProcess.onNewFolder();
  await up.start();
  const { sandboxes } = new AgentBoxClient(await up.access());
  const made = await Promise.all(Array.from({ length: 10 }, () => sandboxes.create({ poolName: "base" })));
  expect(new Set(made.map(({ sandbox }) => sandbox.sandboxId)).size).toBe(10);
  const decision = async (): Promise<string | undefined> => (await up.client.get(SandboxPools, base)).status?.autoscaling?.decision;
  await expect.poll(decision).toMatch(/^\d+ wanted: 10 in use, 0 waiting, \d+ spare for /);
  await expect.poll(async () => (await up.client.get(SandboxEnvs, base)).status).toMatchObject({ runningReplicas: 10 });
});

test("sandboxes of a deleted Env run on until they end, and then nothing of it is left", { timeout: 300_000 }, async () => {
  await using up = await UpProcess.onNewFolder();
  await up.start();
  const { sandboxes } = new AgentBoxClient(await up.access());
  const { sandbox } = await sandboxes.create({ poolName: "base" });
  expect((await up.agentbox("envs", "rm", "base")).code).toBe(0);
  const ofBase = async (): Promise<number> => (await up.pods()).filter((pod) => poolOf(pod) === "base").length;
  await expect.poll(ofBase, patiently).toBe(1);
  expect(await sandboxes.exec(sandbox.sandboxId, { command: ["echo", "lives"] })).toMatchObject({ stdout: "lives\n" });
  await sandboxes.end(sandbox.sandboxId);
  await expect.poll(ofBase, patiently).toBe(0);
  await expect.poll(() => up.client.get(SandboxEnvs, base).catch((error: unknown) => String(error)), patiently).toMatch(/not found/);
  await expect.poll(() => up.client.get(SandboxPools, base).catch((error: unknown) => String(error)), patiently).toMatch(/not found/);
});
