import { expect, test } from "vitest";
import { embeddedAbilities } from "#engines/embedded/abilities.ts";
import { type ClusterFacts, kubernetesAbilities } from "./abilities.ts";

const able = { able: true };

function ofCluster(facts: Partial<ClusterFacts>) {
  const none = { freezes: () => false, hasCheckpointRegistry: false, userNamespaces: () => false, isServerGone: () => false };
  return kubernetesAbilities({ ...none, ...facts });
}

test("a cluster pauses where an agent of ours runs, and says which node has none and what to change", () => {
  const one = ofCluster({ freezes: (node) => node === undefined || node === "a" });
  expect([one.pause(), one.pause("a")]).toEqual([able, able]);
  expect(one.pause("b")).toMatchObject({ able: false, why: expect.stringContaining("the node b has no agent") });
  const none = ofCluster({});
  expect(none.pause("a")).toMatchObject({ able: false, why: expect.stringMatching(/no node of this cluster.*nodeAgent\.enabled/) });
});

test("a cluster takes checkpoints where it has a registry for them and an agent on the node, never of memory, and says what is missing", () => {
  const agents = { freezes: (node?: string) => node === undefined || node === "a" };
  expect(ofCluster(agents).checkpoint("a")).toMatchObject({ able: false, why: expect.stringContaining("checkpoints.repository") });
  const one = ofCluster({ ...agents, hasCheckpointRegistry: true });
  expect([one.checkpoint(), one.checkpoint("a")]).toEqual([able, able]);
  expect(one.checkpoint("b")).toMatchObject({ able: false, why: expect.stringContaining("the node b has no agent") });
  expect(one.memoryCheckpoint()).toMatchObject({ able: false });
});

test("a cluster never enforces egress rules of single sandboxes, and says what does it for all of them", () => {
  expect(ofCluster({}).egress()).toMatchObject({ able: false, why: expect.stringContaining("NetworkPolicies") });
});

test("what a cluster can do changes with its nodes and with its API server", () => {
  let now = false;
  const abilities = ofCluster({ userNamespaces: () => now, isServerGone: () => now });
  expect([abilities.userNamespaces().able, abilities.objects().able]).toEqual([false, true]);
  now = true;
  expect([abilities.userNamespaces().able, abilities.objects().able]).toEqual([true, false]);
});

test("one machine pauses and enforces egress rules, and its pods need not ask for users of their own", () => {
  const machine = embeddedAbilities;
  expect([machine.pause("local"), machine.egress(), machine.objects()]).toEqual([able, able, able]);
  expect(machine.userNamespaces()).toMatchObject({ able: false });
});
