import { describe, expect, test } from "vitest";
import { podCondition } from "#model/claimed-pod.ts";
import { conditionIn } from "#model/conditions.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { type EmbeddedPoolScene, embeddedPoolScene } from "../../../../test/world/embedded-pool-scene.ts";

const isReady = (pod: Pod): boolean => podCondition(pod, "Ready")?.status === "True";
const isIdle = ({ metadata }: Pod): boolean => metadata.labels?.[labelKeys.sandboxPhase] === "idle";
const variable = ({ spec }: Pod): string | undefined => spec.containers[0]?.env?.find(({ name }) => name === "V")?.value;

const hashOf = (pod: Pod | undefined): string | undefined => pod?.metadata.annotations?.[annotationKeys.templateHash];

async function changeTemplate(world: EmbeddedPoolScene, value: string): Promise<void> {
  const containers = [{ name: "main", image: "registry.invalid/app:1", env: [{ name: "V", value }] }];
  await world.scene.changePool({ spec: { template: { spec: { containers } } } });
  await world.quiet();
}

test("a rollout leaves four of five idle pods ready all the time, and ends with all of them new", async () => {
  await using world = await embeddedPoolScene();
  const { scene, clock } = world;
  await scene.createPool({ replicas: 10 });
  await world.filled();
  await changeTemplate(world, "2");
  await clock.step(1_000);
  expect((await scene.pool()).status?.outdatedIdleReplicas).toBe(8);
  for (;;) {
    const pods = await scene.pods();
    const ready = pods.filter(isReady);
    expect(ready.length).toBeGreaterThanOrEqual(8);
    const next = pods.find((pod) => !isReady(pod));
    if (next === undefined) break;
    await scene.nodeReports(next);
    await world.quiet();
  }
  const pods = await scene.pods();
  expect(pods.map(variable)).toEqual(Array.from({ length: 10 }, () => "2"));
  await clock.step(1_000);
  expect((await scene.pool()).status).toMatchObject({ outdatedIdleReplicas: 0, phase: "Ready" });
});

test("a template whose pods do not become ready leaves most of the old ones, and going back ends it", async () => {
  await using world = await embeddedPoolScene();
  const { scene, clock } = world;
  await scene.createPool({ replicas: 10 });
  await world.filled();
  await changeTemplate(world, "broken");
  await clock.step(60 * 60_000);
  const old = (await scene.pods()).filter((pod) => variable(pod) === undefined);
  expect(old).toHaveLength(8);
  await scene.changePool({ spec: { template: { spec: { containers: [{ name: "main", image: "registry.invalid/app:1", env: null }] } } } });
  await world.filled();
  // What had to be given up lets the pool wait before it makes the next.
  await clock.step(10 * 60_000);
  await world.filled();
  await clock.step(1_000);
  expect((await scene.pods()).map(variable)).toEqual(Array.from({ length: 10 }, () => undefined));
  expect(conditionIn(await scene.pool(), "Degraded")?.status).toBe("False");
});

test("claimed pods are left alone by a rollout, and a pool without its template keeps the pods that it has", async () => {
  await using world = await embeddedPoolScene();
  const { scene } = world;
  await scene.createPool({ replicas: 3 });
  await world.filled();
  const [used] = await scene.pods();
  await scene.claim(used as Pod, "i1");
  await changeTemplate(world, "2");
  await world.filled();
  const pods = await scene.pods();
  expect(pods.filter(isIdle).map(variable)).toEqual(["2", "2"]);
  expect(pods.find((pod) => !isIdle(pod))?.metadata.name).toBe(used?.metadata.name);
  await scene.changePool({ spec: { template: null, templateName: "nobody" } });
  await world.quiet();
  expect(await scene.pods()).toEqual(pods);
});

describe("a template that cannot start", () => {
  test("costs a pool none of its pods: one more is tried, and they are replaced once that is ready", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    await scene.createPool({ replicas: 1 });
    await world.filled();
    await clock.step(1_000);
    const [old] = await scene.pods();
    await changeTemplate(world, "broken");
    await clock.step(60 * 60_000);
    const tried = await scene.pods();
    expect(tried.filter(isReady).map(({ metadata }) => metadata.name)).toEqual([old?.metadata.name]);
    expect(tried).toHaveLength(2);
    expect((await scene.pool()).status).toMatchObject({ phase: "Degraded", serving: { templateHash: hashOf(old) } });
    await changeTemplate(world, "good");
    await world.filled();
    await clock.step(1_000);
    await world.filled();
    const pods = await scene.pods();
    expect(pods.map(variable)).toEqual(["good"]);
    await clock.step(1_000);
    expect((await scene.pool()).status).toMatchObject({ phase: "Ready", serving: { templateHash: hashOf(pods[0]) } });
  });

  test("is said for as long as no pod starts, also while there is none, with what the node says", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    await scene.createPool({ replicas: 1 });
    await world.quiet();
    const message = "this node cannot do spec.volumes[0].hostPath";
    const [pod] = await scene.pods();
    await scene.nodeReports(pod as Pod, { phase: "Failed", conditions: [], containerStatuses: [], reason: "Unsupported", message });
    await world.quiet();
    await clock.step(1_000);
    expect(await scene.pods()).toEqual([]);
    const pool = await scene.pool();
    expect(pool.status?.phase).toBe("Degraded");
    expect(conditionIn(pool, "Degraded")).toMatchObject({ status: "True", reason: "PodsNotStarting" });
    expect(conditionIn(pool, "Degraded")?.message).toContain(message);
    expect(conditionIn(pool, "Available")?.message).toContain(message);
    expect(await scene.told()).toContainEqual(expect.stringMatching(/Warning PodsNotStarting/));
    await changeTemplate(world, "good");
    await world.filled();
    await clock.step(1_000);
    expect((await scene.pool()).status?.phase, "a changed template is tried without the pause").toBe("Ready");
  });

  test("leaves a full pool Degraded, and what served goes on serving", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    await scene.createPool({ replicas: 2 });
    await world.filled();
    await clock.step(1_000);
    const { serving } = (await scene.pool()).status ?? {};
    scene.resolve = () => {
      throw new Error("manifest unknown");
    };
    await scene.changePool({ spec: { template: { spec: { containers: [{ name: "main", image: "registry.invalid/typo:1" }] } } } });
    await world.quiet();
    await clock.step(1_000);
    const pool = await scene.pool();
    expect(pool.status).toMatchObject({ phase: "Degraded", idleReplicas: 2, unavailableIdleReplicas: 0, serving });
    expect(serving?.images).toMatchObject([{ container: "main", image: "registry.invalid/app:1" }]);
    expect(conditionIn(pool, "Degraded")?.message).toContain("registry.invalid/typo:1");
  });
});
