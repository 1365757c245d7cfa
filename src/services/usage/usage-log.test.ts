import fc from "fast-check";
import { expect, test } from "vitest";
import { UsageLog, type UsageSample } from "./usage-log.ts";

function at(second: number, more: Partial<UsageSample> = {}): UsageSample {
  return { atMs: 1_800_000_000_000 + second * 1000, cpuPercent: 0, memoryBytes: 0, cacheBytes: 0, diskBytes: 0, ...more };
}

test("what was added is read in order, to the kibibyte and the hundredth of a percent", () => {
  const log = new UsageLog();
  log.add("a", at(0, { cpuPercent: 12.34, memoryBytes: 5 * 2 ** 40, cacheBytes: 1025, diskBytes: 3 * 1024 }));
  log.add("a", at(5, { cpuPercent: 100 }));
  log.add("b", at(7));
  expect(log.between("a", 0, Infinity)).toEqual([
    at(0, { cpuPercent: 12.34, memoryBytes: (2 ** 32 - 1) * 1024, cacheBytes: 1024, diskBytes: 3 * 1024 }),
    at(5, { cpuPercent: 100 }),
  ]);
  expect(log.last("a")).toEqual(at(5, { cpuPercent: 100 }));
  expect(log.last("c")).toBeUndefined();
});

test("a span has both of its ends", () => {
  const log = new UsageLog();
  for (const second of [0, 5, 10, 15]) log.add("a", at(second));
  expect(log.between("a", at(5).atMs, at(10).atMs)).toEqual([at(5), at(10)]);
});

test("at least the last hour is kept, and never much more", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 3000 }), (count) => {
      const log = new UsageLog();
      for (let index = 0; index < count; index++) log.add("a", at(index * 5));
      const kept = log.between("a", 0, Infinity);
      expect(kept.length).toBeGreaterThanOrEqual(Math.min(count, 720));
      expect(kept.length).toBeLessThanOrEqual(780);
      expect(kept.at(-1)).toEqual(count === 0 ? undefined : at((count - 1) * 5));
      expect(kept.map(({ atMs }) => atMs)).toEqual(kept.map((_, index) => at((count - kept.length + index) * 5).atMs));
    }),
    { numRuns: 25 },
  );
});

test("only so many sandboxes are remembered, and who is forgotten makes room", () => {
  const log = new UsageLog(2);
  for (const id of ["a", "b", "c"]) log.add(id, at(0));
  expect([...log.ids()]).toEqual(["a", "b"]);
  log.forget("a");
  log.add("c", at(5));
  expect([...log.ids()]).toEqual(["b", "c"]);
});
