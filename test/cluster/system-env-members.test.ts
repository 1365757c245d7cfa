/** An Env of two members where the scheduler finds no node for one: what requests, the status and the autoscaler make of it. */
import { expect, inject, onTestFinished, test } from "vitest";
import { instanceTypesConfigMapName } from "#model/instance-types.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import type { EnvObservedMember } from "#model/env-status.ts";
import { SandboxEnvs } from "#model/sandbox-env.ts";
import { nodeName } from "../../tools/cluster/layout.ts";
import { kubectl, until } from "./cluster-under-test.ts";
import { SystemWorld } from "./system-world.ts";

const requests = { cpu: "10m", memory: "64Mi" };
/** Of a node that there is not, until the test says so. */
const label = "agentbox-test/elsewhere";

async function withTwoMembers(): Promise<SystemWorld> {
  const world = await SystemWorld.open(inject("cluster"));
  const types = { here: { resources: { requests } }, elsewhere: { resources: { requests }, nodeSelector: { [label]: world.namespace } } };
  const data = Object.fromEntries(Object.entries(types).map(([name, type]) => [name, JSON.stringify(type)]));
  await world.client.create(ConfigMaps, { metadata: { namespace: world.namespace, name: instanceTypesConfigMapName }, data });
  await world.env("py", {
    members: {
      "py-elsewhere": { instanceType: "elsewhere", multiplier: 1, priority: 0 },
      "py-here": { instanceType: "here", multiplier: 1, priority: 1 },
    },
    group: { maxReplicas: 12, scaleUpPolicy: { mode: "Demand", saturationCooldownSeconds: 20 } },
  });
  return world;
}

async function memberOf(world: SystemWorld, name: string): Promise<EnvObservedMember | undefined> {
  const { status } = await world.client.get(SandboxEnvs, { namespace: world.namespace, name: "py" });
  return status?.clusters?.[0]?.observedMembers?.find((member) => member.name === name);
}

test("a member whose pods find no node is Saturated for the scheduler's reason, its sibling serves, and it comes back", async () => {
  await using world = await withTwoMembers();
  await world.start();
  const { sandboxes } = await world.api();
  const create = async () => (await sandboxes.create({ poolName: "py" })).sandbox;

  // It is preferred, so the first pod is asked for there; no request waits for one that no node takes.
  const first = await until(create);
  expect(first).toMatchObject({ status: "Running", poolName: "py-here", envName: "py" });
  await until(async () =>
    expect(await memberOf(world, "py-elsewhere")).toMatchObject({
      state: "Saturated",
      message: expect.stringMatching(
        /capacity: pod py-elsewhere-\w+ has had no node for \d+ s: 0\/1 nodes are available.*affinity\/selector/,
      ),
    }),
  );
  const began = performance.now();
  expect((await create()).poolName).toBe("py-here");
  expect(performance.now() - began).toBeLessThan(30_000);

  await kubectl(["label", "node", nodeName, `${label}=${world.namespace}`]);
  onTestFinished(async () => void (await kubectl(["label", "node", nodeName, `${label}-`])));
  // Before it counts as full no longer its sibling would grow to the group's maximum.
  await until(async () => expect(await memberOf(world, "py-elsewhere")).toMatchObject({ state: "Active" }));
  // Whatever asks for more now gets it there again.
  await until(async () => expect((await create()).poolName).toBe("py-elsewhere"));
  await until(async () => expect(await memberOf(world, "py-elsewhere")).toMatchObject({ state: "Active" }));
}, 400_000);
