import { expect, test } from "vitest";
import { endSandbox } from "#life/end/write-end.ts";
import type { Pod } from "#model/pod.ts";
import { embeddedEnvScene, type EmbeddedEnvScene } from "../../../test/world/embedded-env-scene.ts";
import { aMember } from "../../../test/world/env-objects.ts";

const names = (pods: readonly Pod[]): readonly (string | undefined)[] => pods.map(({ metadata }) => metadata.name);

/** Ends the sandbox and lets the node do all that it is asked for. */
async function endAndRecycle({ world }: EmbeddedEnvScene, pod: Pod, sandboxId: string): Promise<void> {
  const { scene, clock } = world;
  const recycling = { maxUses: 10, digests: { resolve: async (image: string) => ({ digest: scene.resolve(image) }) } };
  const deps = { client: scene.client, cache: scene.cache, clock, log: scene.logged.log, publicKey: scene.publicKey, ...recycling };
  const { signal } = new AbortController();
  expect(await endSandbox(deps, pod, { sandboxId }, signal)).toMatchObject({ kind: "ended" });
  await world.filled();
  await clock.step(1_000);
  await world.filled();
}

test("an Env of mode OnDemandJob has no pod until a request waits, and the pod is deleted after its sandbox", async () => {
  await using envs = await embeddedEnvScene();
  const { world, pressure } = envs;
  await envs.createEnv({ members: [aMember("shell-a", { maxReplicas: 2 }, { spec: { replicas: 3 } })], spec: { mode: "OnDemandJob" } });
  expect(await world.scene.pods()).toEqual([]);
  expect((await world.scene.pool("shell-a")).spec.replicas).toBe(0);
  pressure.waits(2, "shell-a");
  await world.filled();
  const made = await world.scene.pods();
  expect(made).toHaveLength(2);
  for (const [index, pod] of made.entries()) await world.scene.claim(pod, `i${index}`);
  // There is no room for another pod, so that this one would be wanted again.
  pressure.waits(1, "shell-a");
  await world.filled();
  const [first] = await world.scene.pods();
  await endAndRecycle(envs, first as Pod, "i0");
  const left = await world.scene.pods();
  expect(left).toHaveLength(2);
  expect(names(left)).not.toContain(first?.metadata.name);
});

test("an Env of mode WarmPool uses the pod again", async () => {
  await using envs = await embeddedEnvScene();
  const { world } = envs;
  await envs.createEnv();
  const [pod] = await world.scene.pods();
  const claimed = await world.scene.claim(pod as Pod, "i0");
  await world.filled();
  await endAndRecycle(envs, claimed, "i0");
  expect(names(await world.scene.pods())).toEqual(names([pod as Pod]));
});

test("a member's replicas do not give a pod to an Env that has become OnDemandJob", async () => {
  await using envs = await embeddedEnvScene();
  const { world } = envs;
  await envs.createEnv({ members: [aMember("shell-a", {}, { spec: { replicas: 2 } })] });
  expect(await world.scene.pods()).toHaveLength(2);
  await envs.changeEnv({ spec: { mode: "OnDemandJob" } });
  await world.filled();
  await world.clock.step(60_000);
  expect(await world.scene.pods()).toEqual([]);
  const { status } = await envs.env();
  expect(status?.conditions?.map(({ type, reason }) => `${type} ${reason}`)).toContain("AutoscalingActive OnDemand");
  expect(status?.clusters?.[0]?.observedMembers?.[0]).toMatchObject({ state: "Inconsistent", desiredReplicas: 0 });
});
