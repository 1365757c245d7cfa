import { describe, expect, test } from "vitest";
import { recordedLog } from "../../test/world/recorded-log.ts";
import { settle, SteppedClock } from "../../test/world/stepped-clock.ts";
import type { PruneRequest } from "./history-store.ts";
import { runRetention } from "./retention.ts";

const day = 24 * 3_600_000;

function start(answers: (number | Error)[], keepMs?: number, entries: number[] = []) {
  const clock = new SteppedClock(Date.UTC(2026, 1, 1));
  const stop = new AbortController();
  const asked: PruneRequest[] = [];
  const steps: string[] = [];
  const usage = {
    count: async () => {
      steps.push("count");
      return 0;
    },
    prune: async (olderThanMs: number) => void steps.push(`forget hours before ${new Date(olderThanMs).toISOString()}`),
  };
  const audit = {
    prune: async ({ olderThan }: { olderThan: string }) => {
      steps.push(`remove entries before ${olderThan}`);
      return entries.shift() ?? 0;
    },
  };
  const logs = {
    prune: async ({ olderThan }: { olderThan: string }) => {
      steps.push(`remove logs before ${olderThan}`);
      return 0;
    },
  };
  const history = {
    logs,
    audit,
    usage,
    prune: async (request: PruneRequest) => {
      steps.push("remove");
      asked.push(request);
      const answer = answers.shift() ?? 0;
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
  const { log, lines } = recordedLog();
  const options = { history, clock, log, random: () => 0.5, everyMs: 60_000, ...(keepMs === undefined ? {} : { keepMs }) };
  const done = runRetention(options, stop.signal);
  return { clock, asked, steps, lines, end: () => (stop.abort(), done) };
}

describe("retention", () => {
  test("records are kept for 30 days unless told otherwise", async () => {
    const byDefault = start([]);
    const short = start([], day);
    await settle();
    expect(byDefault.asked[0]?.olderThan).toBe("2026-01-02T00:00:00.000Z");
    expect(short.asked[0]?.olderThan).toBe("2026-01-31T00:00:00.000Z");
    await Promise.all([byDefault.end(), short.end()]);
  });

  test("a long backlog goes in small steps with pauses, until a step is not full", async () => {
    const { clock, asked, lines, end } = start([50, 50, 7]);
    await settle();
    expect(asked).toHaveLength(1);
    await clock.step(1000);
    expect(asked).toHaveLength(3);
    expect(asked.every(({ limit }) => limit === 50)).toBe(true);
    expect(lines).toMatchObject([{ msg: "old history removed", removed: 107 }]);
    await end();
  });

  test("it looks again after a while, with the time of then", async () => {
    const { clock, asked, end } = start([]);
    await clock.step(60_000);
    expect(asked.map(({ olderThan }) => olderThan)).toEqual(["2026-01-02T00:00:00.000Z", "2026-01-02T00:01:00.000Z"]);
    await end();
  });

  test("a failure is logged, and the next round tries again", async () => {
    const { clock, asked, lines, end } = start([new Error("away")]);
    await clock.step(60_000);
    expect(asked).toHaveLength(2);
    expect(lines).toMatchObject([{ level: "warn", msg: "old history could not be removed" }]);
    await end();
  });

  test("it ends when told to, in the middle of a backlog too", async () => {
    const { clock, asked, lines, end } = start([50, 50, 50]);
    await settle();
    await end();
    await clock.step(day);
    expect(asked).toHaveLength(1);
    expect(lines).toEqual([]);
  });

  test("usage is counted in every round; entries of the audit log are kept for 90 days, logs for 7, usage for 400", async () => {
    const { clock, steps, end } = start([0], undefined, [50, 3]);
    await settle();
    await clock.step(20);
    expect(steps).toEqual([
      "count",
      "remove",
      "remove entries before 2025-11-03T00:00:00.000Z",
      "remove entries before 2025-11-03T00:00:00.000Z",
      "remove logs before 2026-01-25T00:00:00.020Z",
      "forget hours before 2024-12-28T00:00:00.020Z",
    ]);
    await end();
  });
});
