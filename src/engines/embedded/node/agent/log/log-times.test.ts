import fc from "fast-check";
import { expect, test } from "vitest";
import { LogTimes } from "./log-times.ts";

test("what was written since a time is always behind the offset that is told for it", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 0, max: 50 })), { maxLength: 2_000 }),
      fc.nat(),
      (steps, pick) => {
        const times = new LogTimes();
        const history: { at: number; size: number }[] = [];
        let [at, size] = [0, 0];
        for (const [pause, written] of steps) {
          at += pause;
          size += written;
          times.mark(at, size);
          history.push({ at, size });
        }
        const since = at === 0 ? 0 : pick % (at + 1);
        const before = history.findLast((mark) => mark.at <= since)?.size ?? 0;
        expect(times.offsetAt(since)).toBeLessThanOrEqual(before);
        expect(times.offsetAt(at)).toBe(size === 0 ? 0 : (history.findLast((mark) => mark.size < size || mark.at <= at)?.size ?? 0));
      },
    ),
  );
});

test("a file that begins anew has no past", () => {
  const times = new LogTimes();
  times.mark(1, 100);
  times.clear();
  expect(times.offsetAt(10)).toBe(0);
});
