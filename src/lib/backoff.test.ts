import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Backoff, backoffMs, spread } from "./backoff.ts";

const chance = fc.double({ min: 0, max: 0.999999, noNaN: true });

test("the delay doubles with every failure up to its cap", () => {
  const backoff: Backoff = { baseMs: 100, maxMs: 1000, jitter: "full" };
  const longest = [1, 2, 3, 4, 5, 50, 5000].map((failures) => backoffMs(backoff, failures, () => 1));
  expect(longest).toEqual([100, 200, 400, 800, 1000, 1000, 1000]);
});

test("another factor than two may be chosen", () => {
  expect(backoffMs({ baseMs: 10, maxMs: 1000, factor: 3, jitter: "full" }, 3, () => 1)).toBe(90);
});

test("full jitter reaches from nothing to the delay, equal jitter from half of it", () => {
  const full: Backoff = { baseMs: 100, maxMs: 1000, jitter: "full" };
  const equal: Backoff = { ...full, jitter: "equal" };
  expect([0, 0.5, 1].map((random) => backoffMs(full, 1, () => random))).toEqual([0, 50, 100]);
  expect([0, 0.5, 1].map((random) => backoffMs(equal, 1, () => random))).toEqual([50, 75, 100]);
});

test("no delay is negative, fractional or above the cap, whatever the failures and the chance", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 1e6 }),
      fc.integer({ min: 1, max: 1e5 }),
      chance,
      fc.constantFrom("full", "equal"),
      (failures, baseMs, random, jitter) => {
        const ms = backoffMs({ baseMs, maxMs: 60_000, jitter }, failures, () => random);
        expect(Number.isInteger(ms) && ms >= 0 && ms <= 60_000).toBe(true);
      },
    ),
  );
});

test("a spread time stays within its share and is never zero for a time that is not", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e7 }), chance, (ms, random) => {
      const spreadMs = spread(ms, 0.2, () => random);
      expect(Number.isInteger(spreadMs) && spreadMs >= 1 && spreadMs >= ms * 0.8 && spreadMs <= Math.ceil(ms * 1.2)).toBe(true);
    }),
  );
});
