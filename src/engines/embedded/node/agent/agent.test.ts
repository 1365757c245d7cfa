import { expect, test } from "vitest";
import { NodeWorld } from "../../../../../test/world/node-world.ts";

test("a pod without a node is bound, started and reported as running", async () => {
  await using world = await NodeWorld.start();
  await world.createPod("a");
  const pod = await world.thePod("a");
  expect(pod.spec.nodeName).toBe("node-1");
  expect(pod.status).toMatchObject({ phase: "Running", podIP: "10.88.0.2" });
  console.log(JSON.stringify(pod.status, null, 1), await world.reasons(), world.logged.lines);
  await world.deletePod("a");
  expect(await world.pod("a")).toBeUndefined();
  expect(world.runtime.present()).toEqual([]);
  expect(world.runtime.violations).toEqual([]);
});
