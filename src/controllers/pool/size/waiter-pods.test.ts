import { expect, test } from "vitest";
import { conditionIn } from "#model/conditions.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import { labelKeys } from "#model/keys.ts";
import { limitsConfigMap, noLimitsSet } from "#model/limits.ts";
import { SandboxEnvs } from "#model/sandbox-env.ts";
import { embeddedPoolScene } from "../../../../test/world/embedded-pool-scene.ts";
import { scalingScene, ToldPressure } from "../../../../test/world/scaling-scene.ts";

test("a pool without an Env keeps its replicas, however many requests wait", async () => {
  const pressure = new ToldPressure();
  await using world = await embeddedPoolScene({ pressure });
  await world.scene.createPool({ replicas: 2 });
  pressure.waits(10, "py");
  await world.filled();
  expect(await world.scene.pods()).toHaveLength(2);
});

test("an Env of mode OnDemandJob makes a pod for each waiting request, and takes it away after it", async () => {
  await using scaling = await scalingScene();
  const { world, pressure } = scaling;
  await scaling.createEnv([{ name: "py", replicas: 0, config: { maxReplicas: 3 } }], { enabled: false });
  await world.scene.client.patch(SandboxEnvs, world.scene.key("web"), { type: "merge", body: { spec: { mode: "OnDemandJob" } } });
  pressure.waits(5, "py");
  await world.filled();
  expect(await world.scene.pods()).toHaveLength(3);
  pressure.waits(0, "py");
  await world.clock.step(30_000);
  expect(await world.scene.pods()).toHaveLength(0);
});

test("pods for waiting requests stay inside the limits of the team, and the pool says why there are no more", async () => {
  await using scaling = await scalingScene();
  const { world, pressure } = scaling;
  const { scene } = world;
  await scene.client.create(ConfigMaps, limitsConfigMap(scene.namespace, { ...noLimitsSet, teams: { red: { pods: 4 } } }));
  await scaling.createEnv([{ name: "py", replicas: 1 }], { scaleUpPolicy: { mode: "Conservative" } });
  await scene.changePool({ metadata: { labels: { [labelKeys.team]: "red" } } });
  pressure.waits(9, "py");
  await world.filled();
  await world.clock.step(2_000);
  await world.filled();
  expect(await scene.pods()).toHaveLength(4);
  expect(conditionIn(await scene.pool(), "Degraded")).toMatchObject({
    reason: "LimitReached",
    message: expect.stringContaining("may have 4"),
  });
});

test.each([
  ["pods", { pods: 4 }, ["a", "b", "c"]],
  ["pods", { pods: 4 }, ["c", "b", "a"]],
  ["cpu", { cpu: 4 }, ["a", "b", "c"]],
  ["cpu", { cpu: 4 }, ["c", "b", "a"]],
])("pools of one team that grow in the same moment stay inside its limit %s together", async (_, limits, names) => {
  await using scaling = await scalingScene();
  const { world, pressure } = scaling;
  const { scene } = world;
  await scene.client.create(ConfigMaps, limitsConfigMap(scene.namespace, { ...noLimitsSet, teams: { red: limits } }));
  const template = { spec: { containers: [{ name: "main", image: "registry.invalid/app:1", resources: { limits: { cpu: "1" } } }] } };
  await scaling.createEnv(
    names.map((name) => ({ name, replicas: 0 })),
    { scaleUpPolicy: { mode: "Conservative" } },
  );
  for (const name of names) await scene.changePool({ metadata: { labels: { [labelKeys.team]: "red" } }, spec: { template } }, name);
  await world.quiet();
  pressure.waitsEach(names.map((name) => [3, name]));
  await world.filled();
  expect(await scene.pods()).toHaveLength(4);
});

test.each(["when the requests that wait have theirs", "after a while at the latest"])(
  "pods that nothing waits for are made %s",
  async (when) => {
    await using scaling = await scalingScene();
    const { world, pressure } = scaling;
    const { scene } = world;
    await scaling.createEnv([{ name: "py", replicas: 0 }], { scaleUpPolicy: { mode: "Conservative" } });
    pressure.waits(3, "py");
    await scene.scale(8, "py");
    await world.filled();
    expect(await scene.pods()).toHaveLength(3);
    if (when.startsWith("when")) pressure.waits(0, "py");
    await world.clock.step(when.startsWith("when") ? 100 : 6_000);
    await world.filled();
    expect((await scene.pods()).length).toBeGreaterThanOrEqual(8);
  },
);
