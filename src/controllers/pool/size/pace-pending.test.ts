import fc from "fast-check";
import { expect, test } from "vitest";
import { isNotable } from "./pace-pending.ts";

test.for([
  [0, 1, true],
  [1, 0, true],
  [10, 11, false],
  [10, 12, true],
  [10, 8, true],
  [100, 119, false],
  [5, 5, false],
] as const)("%i told and %i waiting: a write of its own is %s", ([told, waiting, wanted]) => {
  expect(isNotable(told, waiting)).toBe(wanted);
});

test("what is left untold is less than a fifth off, and never hides that requests wait", () => {
  fc.assert(
    fc.property(fc.nat(10_000), fc.nat(10_000), (told, waiting) => {
      if (isNotable(told, waiting)) return;
      expect(waiting > 0).toBe(told > 0);
      expect(Math.abs(waiting - told)).toBeLessThanOrEqual(told / 5);
    }),
  );
});
