import { expect, test } from "vitest";
import { podCondition } from "#model/claimed-pod.ts";
import { conditionIn } from "#model/conditions.ts";
import { labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { type EmbeddedPoolScene, embeddedPoolScene } from "../../../test/world/embedded-pool-scene.ts";

const isReady = (pod: Pod): boolean => podCondition(pod, "Ready")?.status === "True";
const isIdle = ({ metadata }: Pod): boolean => metadata.labels?.[labelKeys.sandboxPhase] === "idle";
const variable = ({ spec }: Pod): string | undefined => spec.containers[0]?.env?.find(({ name }) => name === "V")?.value;

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
