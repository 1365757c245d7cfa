import { expect, test } from "vitest";
import { E2bScene } from "../../../test/world/e2b-scene.ts";

const metric = {
  timestamp: "2026-01-01T00:01:00.000Z",
  timestampUnix: 1_767_225_660,
  cpuCount: 2,
  cpuUsedPct: 12.5,
  memUsed: 4096,
  memTotal: 2 ** 30,
  memCache: 1024,
  diskUsed: 2048,
  diskTotal: 2 ** 31,
};

test("metrics of one sandbox are those of the span that is asked for, with every field that SDKs read", async () => {
  const scene = new E2bScene();
  const { status, json } = await scene.ask("GET /sandboxes/abc/metrics?start=1767225600&end=1767225700");
  expect([status, json]).toEqual([200, [metric, { ...metric, timestamp: "2026-01-01T00:01:05.000Z", timestampUnix: 1_767_225_665 }]]);
  await scene.ask("GET /sandboxes/abc-old/metrics");
  expect(scene.asked).toEqual([
    ["abc", { fromMs: 1_767_225_600_000, toMs: 1_767_225_700_000 }],
    ["abc", {}],
  ]);
  expect((await scene.ask("GET /sandboxes/abc/metrics?start=yesterday")).status).toBe(400);
});

test("metrics of several sandboxes are the newest of each, by their ids", async () => {
  const scene = new E2bScene();
  const { status, json } = await scene.ask("GET /sandboxes/metrics?sandbox_ids=abc,def&sandbox_ids=ghi");
  expect([status, json]).toEqual([200, { sandboxes: { abc: metric } }]);
  expect(scene.asked).toEqual([["abc", "def", "ghi"]]);
});
