import { expect, test } from "vitest";
import { admin, ann, bob, eve, failureOf, nobody, redTeam, ServiceScene } from "../../../test/world/service-scene.ts";
import { labelKeys } from "#model/keys.ts";
import { sandboxStatistics } from "./sandbox-statistics.ts";

const day = 24 * 3_600_000;

test("live sandboxes are counted by status and pool, ended ones of the last day also by day", async () => {
  await using scene = await ServiceScene.open();
  await scene.record("o-old");
  await scene.clock.step(2 * day);
  await scene.record("o-1");
  await scene.record("o-2", { status: "Failed", stopReason: "Failed", poolName: "js" });
  await scene.sandbox("i-1");
  await scene.sandbox("i-2", { pool: "js" });
  await scene.sandbox("i-3", { phase: "starting" });
  expect(await sandboxStatistics(scene, ann, {})).toEqual({
    live: {
      total: 3,
      byStatus: [
        { key: "Running", count: 2 },
        { key: "Starting", count: 1 },
      ],
      byPool: [
        { key: "js", count: 1 },
        { key: "py", count: 2 },
      ],
    },
    since: new Date(scene.clock.now() - day).toISOString(),
    ended: {
      total: 2,
      byStatus: [
        { key: "Completed", count: 1 },
        { key: "Failed", count: 1 },
      ],
      byPool: [
        { key: "js", count: 1 },
        { key: "py", count: 1 },
      ],
      byDay: [{ key: "2026-01-03", count: 2 }],
    },
  });
  expect((await sandboxStatistics(scene, ann, { since: "2026-01-01T00:00:00Z" })).ended.total).toBe(3);
});

test("the counts follow sandboxes through their life", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1", { phase: "starting" });
  const statuses = async () => (await sandboxStatistics(scene, ann, {})).live.byStatus.map(({ key, count }) => `${count} ${key}`);
  expect(await statuses()).toEqual(["1 Starting"]);
  await scene.change("i-1", { labels: { [labelKeys.sandboxPhase]: "running" } });
  expect(await statuses()).toEqual(["1 Running"]);
  await scene.end("i-1");
  expect(await statuses()).toEqual([]);
});

test("I8: everybody is counted his own only", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  await scene.record("o-1");
  await scene.record("o-2", { user: "bob" });
  const totals = await Promise.all(
    [ann, bob, redTeam, admin, eve, nobody].map(async (caller) => {
      const { live, ended } = await sandboxStatistics(scene, caller, {});
      return [live.total, ended.total];
    }),
  );
  expect(totals).toEqual([
    [1, 1],
    [0, 1],
    [1, 2],
    [1, 2],
    [0, 0],
    [0, 0],
  ]);
});

test("a beginning that is no time is refused by name", async () => {
  await using scene = await ServiceScene.open();
  expect(await failureOf(sandboxStatistics(scene, ann, { since: "last week" }))).toMatchObject({
    code: "invalid_request",
    details: { field: "since" },
  });
});
