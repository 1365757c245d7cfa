import * as fc from "fast-check";
import { expect, test } from "vitest";
import { deepFreeze } from "./deep-freeze.ts";

function isDeeplyFrozen(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen);
}

test("every part of a JSON value is frozen, and none is changed", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const copy = structuredClone(value);
      expect(deepFreeze(value)).toEqual(copy);
      expect(isDeeplyFrozen(value)).toBe(true);
    }),
  );
});
