/** The stories of `test/node/sandboxes.test.ts`, unchanged, where the name that creates use is that of an Env, on real kubelets. */
import { expect, inject, test } from "vitest";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { isTerminalStatus } from "#model/sandbox-record.ts";
import { describeSandboxStories } from "../world/sandbox-stories.ts";
import { until } from "./cluster-under-test.ts";
import { SystemWorld } from "./system-world.ts";

async function worldWithEnv(): Promise<SystemWorld> {
  const world = await SystemWorld.open(inject("cluster"));
  await world.env("base", { members: { base: {} }, group: { minReplicas: 3, maxReplicas: 3, scaleUpPolicy: { mode: "Demand" } } });
  return world;
}

describeSandboxStories(worldWithEnv);

test("a create names the Env, its record does too, and its pod is renewed for the next one (I2)", async () => {
  await using world = await SystemWorld.open(inject("cluster"));
  const group = { minReplicas: 1, maxReplicas: 1, scaleUpPolicy: { mode: "Demand" } } as const;
  await world.env("py", { members: { "py-small": {} }, group });
  await world.start();
  const { sandboxes, envs } = await world.api();
  const { sandbox } = await until(() => sandboxes.create({ poolName: "py" }));
  expect(sandbox).toMatchObject({ status: "Running", poolName: "py-small", envName: "py" });
  const write = { command: ["sh", "-c", "echo mine > /tmp/mine; cat /tmp/mine"] };
  expect(await sandboxes.exec(sandbox.sandboxId, write)).toMatchObject({ exitCode: 0, stdout: "mine\n" });
  expect((await envs.get({ name: "py" })).status).toMatchObject({ memberCount: 1 });

  await sandboxes.end(sandbox.sandboxId);
  await until(async () => {
    const record = await sandboxes.get(sandbox.sandboxId);
    expect(record.status).toSatisfy(isTerminalStatus);
    expect(record).toMatchObject({ status: "Completed", poolName: "py-small", envName: "py" });
  });
  expect((await sandboxes.page({ envName: "py" })).sandboxes.map(({ sandboxId }) => sandboxId)).toEqual([sandbox.sandboxId]);
  await until(async () => expect((await world.pods()).map(sandboxPhaseOf)).toEqual(["idle"]));

  const next = (await until(() => sandboxes.create({ poolName: "py" }))).sandbox;
  expect([next.podName, next.envName]).toEqual([sandbox.podName, "py"]);
  expect(await sandboxes.exec(next.sandboxId, { command: ["sh", "-c", "ls /tmp/mine"] })).not.toMatchObject({ exitCode: 0 });
});
