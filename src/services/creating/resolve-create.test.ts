import { expect, test } from "vitest";
import { embeddedClaimScene } from "../../../test/world/embedded-scenes.ts";

const pool = { defaultStartupTimeout: "90s", defaultIdleTimeout: "10m" };

test("a create that says nothing has its pool's timeouts, and its own go before them", async () => {
  await using world = await embeddedClaimScene({ pods: 2, pool });
  const process = await world.scene.process();
  expect((await process.create()).sandbox).toMatchObject({ startupTimeoutMs: 90_000, idleTimeoutMs: 600_000 });
  const own = { startupTimeoutMs: 30_000, idleTimeoutMs: 60_000 };
  expect((await process.create(own)).sandbox).toMatchObject(own);
});

test("where the pool says nothing either, a start has two minutes and a sandbox may be idle for ever", async () => {
  await using world = await embeddedClaimScene();
  const { sandbox } = await (await world.scene.process()).create();
  expect([sandbox.startupTimeoutMs, sandbox.idleTimeoutMs]).toEqual([120_000, undefined]);
});
