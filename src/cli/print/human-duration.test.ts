import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { age, humanDuration } from "./human-duration.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

describe("a duration", () => {
  test.each([
    [-2 * second, "<invalid>"],
    [-1.5 * second, "0s"],
    [0, "0s"],
    [5.9 * second, "5s"],
    [119 * second, "119s"],
    [2 * minute, "2m"],
    [2 * minute + 10 * second, "2m10s"],
    [10 * minute + 10 * second, "10m"],
    [179 * minute, "179m"],
    [3 * hour, "3h"],
    [3 * hour + 5 * minute, "3h5m"],
    [8 * hour + 5 * minute, "8h"],
    [47 * hour, "47h"],
    [2 * day, "2d"],
    [5 * day + 12 * hour, "5d12h"],
    [8 * day + 12 * hour, "8d"],
    [729 * day, "729d"],
    [730 * day, "2y"],
    [800 * day, "2y70d"],
    [8 * 365 * day + 3 * day, "8y"],
  ])("of %d ms is written %s", (ms, text) => {
    expect(humanDuration(ms)).toBe(text);
  });

  test("never takes more than seven characters", () => {
    fc.assert(fc.property(fc.integer({ min: 0, max: 50 * 365 * day }), (ms) => humanDuration(ms).length <= 7));
  });
});

describe("an age", () => {
  const now = Date.UTC(2026, 0, 2);

  test.each([
    ["2026-01-01T23:59:55Z", "5s"],
    ["2026-01-01T23:59:55.123456Z", "4s"],
    [undefined, "<unknown>"],
    [null, "<unknown>"],
    ["", "<unknown>"],
    ["yesterday", "<invalid>"],
  ])("of %s is %s", (timestamp, text) => {
    expect(age(timestamp, now)).toBe(text);
  });
});
