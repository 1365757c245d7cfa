import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { durationPattern, formatDuration, parseDuration } from "./duration.ts";

describe("reading a duration", () => {
  test.each([
    ["5m", 300_000],
    ["1h30m", 5_400_000],
    ["90s", 90_000],
    ["1.5h", 5_400_000],
    ["250ms", 250],
    ["1500us", 1.5],
    ["2000000ns", 2],
    ["1m1m", 120_000],
    ["30m1h", 5_400_000],
    ["0s", 0],
    ["0", 0],
  ])("%s is %d ms", (text, milliseconds) => {
    expect(parseDuration(text)).toBeCloseTo(milliseconds, 9);
  });

  test.each(["", "5", "m", "5 m", "-5m", "+5m", "1d", "1w", "5M", "1.h", ".5h", "five minutes", "1h ", "1h-5m"])("%j is none", (text) => {
    expect(() => parseDuration(text)).toThrow(`"${text}" is not a duration`);
  });
});

describe("writing a duration", () => {
  test.each([
    [0, "0s"],
    [1, "1ms"],
    [1500, "1s500ms"],
    [60_000, "1m"],
    [5_400_000, "1h30m"],
    [90_061_001, "25h1m1s1ms"],
    [0.4, "0s"],
  ])("%d ms is %s", (milliseconds, text) => {
    expect(formatDuration(milliseconds)).toBe(text);
  });

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY])("%d ms is none", (milliseconds) => {
    expect(() => formatDuration(milliseconds)).toThrow("is not a duration");
  });
});

test("a duration that was written is read back, and fits the schema", () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (milliseconds) => {
      const text = formatDuration(milliseconds);
      expect(text).toMatch(new RegExp(durationPattern));
      expect(parseDuration(text)).toBe(milliseconds);
    }),
  );
});

test("what fits the schema can be read", () => {
  fc.assert(
    fc.property(fc.stringMatching(new RegExp(durationPattern)), (text) => {
      expect(parseDuration(text)).toBeGreaterThanOrEqual(0);
    }),
  );
});
