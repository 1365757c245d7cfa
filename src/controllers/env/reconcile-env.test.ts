import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { conditionIn } from "#model/conditions.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { embeddedEnvScene, type EmbeddedEnvScene } from "../../../test/world/embedded-env-scene.ts";
import { aMember } from "../../../test/world/env-objects.ts";
import { defaultEnvPace } from "./env-deps.ts";
import { reconcileEnv } from "./reconcile-env.ts";

const second = 1_000;
const saturate = async ({ world: { scene } }: EmbeddedEnvScene, scaleUpErrorMessage: string): Promise<void> => {
  const autoscaling = { saturatedUntil: "2026-01-01T01:00:00Z", scaleUpErrorMessage };
  await scene.client.patch(
    SandboxPools,
    scene.key("shell-a"),
    { type: "merge", body: { status: { autoscaling } } },
    { subresource: "status" },
  );
};

describe("the status of an Env", () => {
  test("is not written when nothing has changed, however much time goes by", async () => {
    await using envs = await embeddedEnvScene();
    await envs.createEnv();
    await envs.world.clock.step(5 * second);
    const [before, writes] = [await envs.env(), envs.statusWrites()];
    expect(conditionIn(before, "Ready")?.status).toBe("True");
    await envs.world.clock.step(10 * 60 * second);
    expect(envs.statusWrites()).toBe(writes);
    expect((await envs.env()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });

  test("is written once a second at most, and the latest of it is written", async () => {
    await using envs = await embeddedEnvScene();
    await envs.createEnv();
    await envs.world.clock.step(5 * second);
    const writes = envs.statusWrites();
    for (let change = 1; change <= 40; change++) {
      await saturate(envs, `try ${change}`);
      await envs.world.quiet();
      await envs.world.clock.step(100);
    }
    // Four seconds: at 0, 1, 2 and 3, and one at the end.
    expect(envs.statusWrites() - writes).toBeLessThanOrEqual(5);
    expect(envs.statusWrites() - writes).toBeGreaterThanOrEqual(4);
    await envs.world.clock.step(second);
    expect(conditionIn(await envs.env(), "Ready")?.message).toContain("try 40");
  });

  test("says Saturated with the pool's reason, and Active again when the time is over", async () => {
    await using envs = await embeddedEnvScene();
    await envs.createEnv();
    await saturate(envs, "capacity: room for 1");
    await envs.world.quiet();
    await envs.world.clock.step(2 * second);
    expect(conditionIn(await envs.env(), "Ready")).toMatchObject({ status: "False", reason: "MemberSaturated" });
    expect((await envs.env()).status?.clusters?.[0]?.observedMembers?.[0]).toMatchObject({
      state: "Saturated",
      message: expect.stringContaining("capacity: room for 1"),
    });
    await envs.world.clock.step(61 * 60 * second);
    expect(conditionIn(await envs.env(), "Ready")).toMatchObject({ status: "True", reason: "MembersActive" });
  });
});

test("a schedule that cannot be read stands in the condition Ready, and no pool is made until it is right", async () => {
  await using envs = await embeddedEnvScene();
  const day = { name: "day", start: "0 25 * * *", durationSeconds: 60, minReplicas: 1 };
  const groups = (start: string) => ({ autoscaling: { groups: [{ name: "default", enabled: true, schedules: [{ ...day, start }] }] } });
  await envs.createEnv({ members: [aMember("shell-a")], spec: groups("0 25 * * *") });
  expect(conditionIn(await envs.env(), "Ready")).toMatchObject({
    reason: "ScheduleInvalid",
    message: expect.stringContaining('spec.autoscaling.groups[0].schedules[0].start: "0 25 * * *" is no cron expression'),
  });
  expect((await envs.world.scene.client.list(SandboxPools)).items).toEqual([]);
  await envs.changeEnv({ spec: groups("0 8 * * *") });
  await envs.world.quiet();
  await envs.world.clock.step(2 * second);
  expect((await envs.world.scene.client.list(SandboxPools)).items).toHaveLength(1);
  expect(conditionIn(await envs.env(), "Ready")?.reason).toBe("MembersActive");
});

test("an Env to which nothing happens is looked at again after ten seconds, give or take a fifth", async () => {
  await using envs = await embeddedEnvScene();
  await envs.createEnv();
  await envs.world.clock.step(5 * second);
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const afterMs = async (random: number): Promise<number> => {
    const tools = { ...envs.deps, random: () => random, pace: defaultEnvPace, memories: new Map() };
    const again = await reconcileEnv(tools, envs.world.scene.key("shell"), new AbortController().signal);
    return again?.afterMs ?? 0;
  };
  expect([await afterMs(0), await afterMs(0.5)]).toEqual([8_000, 10_000]);
  await fc.assert(
    fc.asyncProperty(chance, async (random) => {
      const ms = await afterMs(random);
      expect(ms).toBeGreaterThanOrEqual(8_000);
      expect(ms).toBeLessThanOrEqual(12_000);
    }),
  );
});
