import fc from "fast-check";
import { expect, test } from "vitest";
import { afterRestart, type BackoffEntry, heldBackUntil } from "./restart-backoff.ts";

test("the first restart is not held back, later ones 10 s and more after the end", () => {
  expect(heldBackUntil(undefined, 1_000, 1_000)).toBeUndefined();
  const first = afterRestart(undefined, 1_000, 1_000);
  expect(heldBackUntil(first, 2_000, 2_000)).toBe(12_000);
  expect(heldBackUntil(first, 2_000, 11_999)).toBe(12_000);
  expect(heldBackUntil(first, 2_000, 12_000)).toBeUndefined();
  expect(heldBackUntil(afterRestart(first, 2_000, 12_000), 13_000, 13_000)).toBe(33_000);
});

test("a run of more than ten minutes wipes the slate clean", () => {
  const entry: BackoffEntry = { delayMs: 300_000, startedAt: 0 };
  expect(heldBackUntil(entry, 600_000, 600_000)).toBe(900_000);
  expect(heldBackUntil(entry, 600_001, 600_001)).toBeUndefined();
  expect(afterRestart(entry, 600_001, 600_001)).toEqual({ delayMs: 10_000, startedAt: 600_001 });
});

test("a delay is never shorter than 10 s nor longer than 5 min, and grows while runs are short", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 600_000 }), { minLength: 1, maxLength: 30 }), (runs) => {
      let entry: BackoffEntry | undefined;
      let now = 0;
      for (const ran of runs) {
        const before = entry;
        now += ran;
        entry = afterRestart(entry, now, now);
        expect(entry.delayMs).toBeGreaterThanOrEqual(before?.delayMs ?? 10_000);
        expect(entry.delayMs).toBeLessThanOrEqual(300_000);
      }
    }),
  );
});
