import fc from "fast-check";
import { expect, test } from "vitest";
import { conditionIn } from "#model/conditions.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import { labelKeys } from "#model/keys.ts";
import { limitsConfigMap, noLimitsSet } from "#model/limits.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { embeddedPoolScene } from "../../../../test/world/embedded-pool-scene.ts";
import { allotment, type OtherPools } from "./pool-allotment.ts";
import { PodsUnderWay } from "./pods-under-way.ts";
import { PoolSums } from "./pool-sums.ts";

function aPool(name: string, replicas: number, team = ""): SandboxPool {
  const labels = team === "" ? {} : { [labelKeys.team]: team };
  return { metadata: { namespace: "ns", name, labels, creationTimestamp: "2026-01-01T00:00:00Z" }, spec: { replicas } };
}

function around(pools: readonly SandboxPool[]): OtherPools {
  const sums = new PoolSums({ living: () => 0, pool: () => undefined, underWay: new PodsUnderWay() });
  for (const pool of pools) sums.put(pool, true);
  return {
    podsOfOthers: (pool) => sums.podsOfOthers(pool),
    podsThereOfOthers: (pool) => sums.podsThereOfOthers(pool),
    list: () => pools,
  };
}

test("all pools together have no more than the limits say, each no more than it wants, and the older ones first", () => {
  const pool = fc.record({ replicas: fc.nat(30), team: fc.constantFrom("", "red", "blue") });
  const limit = fc.nat(40);
  fc.assert(
    fc.property(fc.array(pool, { maxLength: 8 }), limit, limit, limit, (wanted, ofTeam, ofServer, perPool) => {
      const table = { ...noLimitsSet, server: { pods: ofServer }, everyTeam: { pods: ofTeam, podsPerPool: perPool } };
      const pools = wanted.map(({ replicas, team }, index) => aPool(`p${index}`, replicas, team));
      const given = pools.map((one) => allotment(table, one, around(pools)).pods);
      const sum = (team?: string): number =>
        given.reduce((all, pods, index) => (team === undefined || wanted[index]?.team === team ? all + pods : all), 0);
      expect(sum()).toBeLessThanOrEqual(ofServer);
      for (const team of ["red", "blue"]) expect(sum(team)).toBeLessThanOrEqual(ofTeam);
      for (const [index, pods] of given.entries()) {
        expect(pods).toBeLessThanOrEqual(wanted[index]?.replicas ?? 0);
        expect(pods).toBeLessThanOrEqual(wanted[index]?.team === "" ? pods : perPool);
      }
    }),
  );
});

test("far from every limit no other pool is looked at, however many there are", () => {
  const table = { ...noLimitsSet, server: { pods: 100 }, everyTeam: { pods: 50 } };
  const pools = [aPool("old", 40, "red"), aPool("py", 3, "red")];
  const list = (): never => {
    throw new Error("all pools were gone through");
  };
  const py = aPool("py", 3, "red");
  expect(allotment(table, py, { ...around(pools), list }, 10)).toEqual({ pods: 10, trouble: undefined });
  expect(() => allotment(table, py, { ...around(pools), list }, 11)).toThrow("all pools");
  expect(allotment(table, py, around(pools), 11).pods).toBe(10);
});

test("a pool that was applied past the APIs gets no more pods than its team may have, says so, and the rest when the limit is raised", async () => {
  await using world = await embeddedPoolScene();
  const { scene } = world;
  const limits = (pods: number) => limitsConfigMap(scene.namespace, { ...noLimitsSet, teams: { red: { pods } } });
  await scene.client.create(ConfigMaps, limits(2));
  await world.quiet();
  const template = { spec: { containers: [{ name: "main", image: "registry.invalid/app:1" }] } };
  const metadata = { ...scene.key("py"), labels: { [labelKeys.team]: "red" } };
  await scene.client.create(SandboxPools, { metadata, spec: { replicas: 8, template } });
  await world.filled();
  await world.clock.step(2000);
  expect(await scene.pods()).toHaveLength(2);
  expect(conditionIn(await scene.pool(), "Degraded")).toMatchObject({
    status: "True",
    reason: "LimitReached",
    message: expect.stringContaining("wants 8 pods and may have 2: team red has the limit pods=2"),
  });
  await scene.client.update(ConfigMaps, limits(100));
  await world.quiet();
  await world.filled();
  await world.clock.step(2000);
  expect(await scene.pods()).toHaveLength(8);
  expect(conditionIn(await scene.pool(), "Degraded")).toMatchObject({ status: "False" });
});
