import { expect, test } from "vitest";
import { isBelow, logEntries } from "./log-entry.ts";

const start = "2026-01-01T00:00:00.000Z";

test.each([
  ['{"level":"warn","time":"2026-01-02T00:00:00.000Z","msg":"x"}', "warn", "2026-01-02T00:00:00.000Z"],
  ['{"level":50,"time":1767312000000,"msg":"x"}', "error", "2026-01-02T00:00:00.000Z"],
  ['{"severity":"DEBUG","ts":"2026-01-02T01:00:00+01:00"}', "debug", "2026-01-02T00:00:00.000Z"],
  ["2026-01-02T00:00:00Z ERROR it broke", "error", "2026-01-02T00:00:00.000Z"],
  ["[warning] low on disk", "warn", start],
  ["Error: it broke", "error", start],
  ["no error was found", "info", start],
  ['{"broken', "info", start],
  ['{"level":"loud","time":"yesterday"}', "info", start],
  ["", "info", start],
])("%s is %s at %s", (line, level, timestamp) => {
  expect(logEntries([line], start)).toMatchObject([{ message: line, level, timestamp }]);
});

test("a line without a time has that of the line before it", () => {
  const lines = ["starts", "2026-01-02T00:00:00Z one", "two", '{"time":"2026-01-03T00:00:00Z"}', "three"];
  const times = logEntries(lines, start).map(({ timestamp }) => timestamp.slice(0, 10));
  expect(times).toEqual(["2026-01-01", "2026-01-02", "2026-01-02", "2026-01-03", "2026-01-03"]);
});

test("the least level that is wanted leaves out what is below it; one that there is not leaves out nothing", () => {
  expect([isBelow("info", "warn"), isBelow("warn", "warn"), isBelow("error", "warn")]).toEqual([true, false, false]);
  expect([isBelow("debug", undefined), isBelow("debug", "loud")]).toEqual([false, false]);
});
