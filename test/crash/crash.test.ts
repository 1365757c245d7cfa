import { expect, test } from "vitest";
import { crashRun } from "./crash-run.ts";

test(
  "a server killed under write load loses nothing it acknowledged, and watchers resume without a gap",
  { timeout: 120_000 },
  async () => {
    const report = await crashRun({ kills: 4, writers: 3, watchers: 2, random: Math.random });
    expect(report.problems).toEqual([]);
    expect(report.writes).toBeGreaterThan(100);
  },
);
