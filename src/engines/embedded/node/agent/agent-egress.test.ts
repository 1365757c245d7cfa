import { expect, test } from "vitest";
import { egressPolicyText, egressRefusal, isEgressApplied } from "#model/egress-policy.ts";
import { annotationKeys, podConditions } from "#model/keys.ts";
import { Pods } from "#model/pod.ts";
import { NodeWorld } from "../../../../../test/world/node-world.ts";

const offline = { internet: false, allow: [], deny: [] };

async function wish(world: NodeWorld, text: string | null): Promise<void> {
  const body = { metadata: { annotations: { [annotationKeys.egressPolicy]: text } } };
  await world.store.patch(Pods, { namespace: "default", name: "a" }, { type: "merge", body });
  await world.step(0);
}

const inForce = (world: NodeWorld): unknown => world.runtime.present()[0]?.egress;

test("a pod's policy holds before its first container is made", async () => {
  await using world = await NodeWorld.start();
  await world.createPod("a", { annotations: { [annotationKeys.egressPolicy]: egressPolicyText(offline) } });
  await world.step(0);
  expect(inForce(world)).toEqual(offline);
  expect(isEgressApplied(await world.thePod("a"))).toBe(true);
});

test("a policy that comes, changes and goes is in force at once, is answered, and restarts nothing", async () => {
  await using world = await NodeWorld.start();
  await world.createPod("a");
  await world.step(0);
  const before = world.runtime.container("a", "main")?.id;
  expect(inForce(world)).toBeUndefined();
  for (const policy of [offline, { internet: true, allow: [], deny: ["1.2.3.0/24"] }]) {
    await wish(world, egressPolicyText(policy));
    expect(inForce(world)).toEqual(policy);
    expect(isEgressApplied(await world.thePod("a"))).toBe(true);
  }
  await wish(world, null);
  expect(inForce(world)).toBeUndefined();
  const pod = await world.thePod("a");
  expect(isEgressApplied(pod)).toBe(true);
  expect(pod.status?.conditions?.some(({ type }) => type === podConditions.egressPolicy)).toBe(false);
  expect(world.runtime.container("a", "main")?.id).toBe(before);
  expect(world.runtime.starts).toHaveLength(1);
});

test("a policy that cannot be read closes everything, and says why once", async () => {
  await using world = await NodeWorld.start();
  await world.createPod("a");
  await world.step(0);
  await wish(world, '{"internet":0}');
  await world.step(120_000);
  expect(inForce(world)).toEqual(offline);
  const pod = await world.thePod("a");
  expect(isEgressApplied(pod)).toBe(false);
  expect(egressRefusal(pod)).toBe("internet must be true or false");
  expect(await world.events("InvalidEgressPolicy")).toMatchObject([{ count: 1 }]);
});

test("a policy that the machine does not take is tried again, and counts as not in force until it is", async () => {
  await using world = await NodeWorld.start();
  await world.createPod("a");
  await world.step(0);
  world.runtime.fail("ensurePod", { message: "nft is gone" });
  await wish(world, egressPolicyText(offline));
  expect(isEgressApplied(await world.thePod("a"))).toBe(false);
  expect(await world.events("FailedEgressPolicy")).toHaveLength(1);
  await world.step(1000);
  expect(inForce(world)).toEqual(offline);
  expect(isEgressApplied(await world.thePod("a"))).toBe(true);
});

test("an agent that dies before a policy is in force is followed by one that brings it there", async () => {
  await using world = await NodeWorld.start();
  await world.createPod("a");
  await world.step(0);
  world.runtime.delay("ensurePod", 1000);
  await wish(world, egressPolicyText(offline));
  world.crashAgent();
  world.runtime.delay("ensurePod", 0);
  await world.startAgent();
  await world.step(0);
  expect(inForce(world)).toEqual(offline);
});
