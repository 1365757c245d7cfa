import { expect, test } from "vitest";
import type { UsageRow } from "#client/reports.ts";
import { byOwner, overTime } from "./usage-sums.ts";

const row = (start: string, team: string, sandboxSeconds: number, user?: string): UsageRow => ({
  start: `2026-03-${start}T00:00:00.000Z`,
  team,
  ...(user !== undefined && { user }),
  creates: 1,
  sandboxSeconds,
  cpuSeconds: sandboxSeconds,
  memoryGibSeconds: sandboxSeconds,
});

test("owners are added up over all steps, the largest first", () => {
  const rows = [row("01", "red", 10, "ann"), row("02", "red", 10, "ann"), row("02", "blue", 5), row("02", "", 30, "")];
  expect(byOwner({ rows }).map(({ owner, creates, sandboxSeconds }) => [owner, creates, sandboxSeconds])).toEqual([
    ["without an owner", 1, 30],
    ["red / ann", 2, 20],
    ["blue", 1, 5],
  ]);
});

test("steps without usage are 0 in the chart", () => {
  const rows = [row("01", "red", 10), row("03", "red", 20), row("03", "blue", 1)];
  const report = { from: "2026-03-01T00:00:00.000Z", to: "2026-03-03T05:00:00.000Z", step: "day", by: "team", rows } as const;
  expect(overTime(report, ({ sandboxSeconds }) => sandboxSeconds)).toEqual({
    times: [1, 2, 3].map((day) => Date.UTC(2026, 2, day) / 1000),
    values: [10, 0, 21],
  });
});
