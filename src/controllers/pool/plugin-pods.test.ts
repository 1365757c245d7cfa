/** What plugins and quotas do to the pods that a pool makes. */
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { prometheusMetrics } from "#lib/metrics.ts";
import { conditionIn } from "#model/conditions.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import { limitsConfigMap } from "#model/limits.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import type { Plugin, PluginChain } from "#plugins/plugin.ts";
import { openPluginChain } from "#plugins/plugin-chain.ts";
import { reservationPlugin } from "#plugins/reservation.ts";
import { embeddedPoolScene } from "../../../test/world/embedded-pool-scene.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";

function chainOf(...plugins: readonly Plugin[]): PluginChain {
  return openPluginChain(plugins, { clock: new SteppedClock(), log: recordedLog().log, metrics: prometheusMetrics(new Registry()) });
}

const container = { name: "main", image: "registry.invalid/app:1", resources: { limits: { cpu: "500m", memory: "256Mi" } } };

test("pods are made as plugins want them", async () => {
  const plugin: Plugin = {
    name: "mark",
    preCreatePod: async (pod, pool) => ({
      object: { ...pod, metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, of: pool.metadata.name ?? "" } } },
    }),
  };
  await using world = await embeddedPoolScene({ plugins: chainOf(plugin) });
  await world.scene.createPool({ replicas: 2 });
  await world.filled();
  expect((await world.scene.pods()).map(({ metadata }) => metadata.annotations?.["of"])).toEqual(["py", "py"]);
});

test("a plugin that refuses pods is the pool's trouble, with its name and reason, until it lets them", async () => {
  let isFull = true;
  const plugin: Plugin = {
    name: "gate",
    preCreatePod: async (pod) => (isFull ? { refusal: { kind: "InsufficientResources", message: "no licence is free" } } : { object: pod }),
  };
  await using world = await embeddedPoolScene({ plugins: chainOf(plugin) });
  const { scene, clock } = world;
  await scene.createPool({ replicas: 2 });
  await world.quiet();
  await clock.step(1000);
  expect(await scene.pods()).toEqual([]);
  expect(conditionIn(await scene.pool(), "Degraded")).toMatchObject({
    reason: "RefusedByPlugin",
    message: expect.stringContaining("plugin gate refuses it (InsufficientResources): no licence is free") as string,
  });
  expect(await scene.told()).toContainEqual(expect.stringContaining("Warning RefusedByPlugin"));
  isFull = false;
  await clock.step(10_000);
  await world.filled();
  expect(await scene.pods()).toHaveLength(2);
});

test("a pool's reservation is on its pods", async () => {
  await using world = await embeddedPoolScene({ plugins: chainOf(reservationPlugin()) });
  const { scene } = world;
  const reservation = { priorityClassName: "high", replicaQuota: { cpu: "250m" } };
  const annotations = { [annotationKeys.reservation]: JSON.stringify(reservation) };
  const pool = { metadata: { ...scene.key("py"), annotations }, spec: { replicas: 1, template: { spec: { containers: [container] } } } };
  await scene.client.create(SandboxPools, pool);
  await world.filled();
  expect(await scene.pods()).toMatchObject([
    {
      metadata: { annotations: { [annotationKeys.replicaQuota]: '{"cpu":"250m"}' } },
      spec: { priorityClassName: "high", containers: [{ resources: { requests: { cpu: "500m" } } }] },
    },
  ]);
});

test.each([
  ["cpu", { cpu: 2 }, 4],
  ["memoryMiB", { memoryMiB: 800 }, 3],
  ["idlePods", { idlePods: 2 }, 2],
])("a pool that was written past the API stays inside its team's limit %s, and says so", async (name, limits, most) => {
  await using world = await embeddedPoolScene();
  const { scene, clock } = world;
  await scene.client.create(ConfigMaps, limitsConfigMap("ns", { server: {}, everyTeam: {}, teams: { red: limits } }));
  await world.quiet();
  const labels = { [labelKeys.team]: "red" };
  const pool = { metadata: { ...scene.key("py"), labels }, spec: { replicas: 6, template: { spec: { containers: [container] } } } };
  await scene.client.create(SandboxPools, pool);
  await world.filled();
  await clock.step(1000);
  expect(await scene.pods()).toHaveLength(most);
  expect(conditionIn(await scene.pool(), "Degraded")).toMatchObject({
    reason: "LimitReached",
    message: expect.stringContaining(`agentbox limits set --team red ${name}=N`) as string,
  });
  await scene.client.patch(
    ConfigMaps,
    { namespace: "ns", name: "agentbox-limits" },
    { type: "merge", body: { data: { "team.red": null } } },
  );
  await world.filled();
  expect(await scene.pods()).toHaveLength(6);
});
