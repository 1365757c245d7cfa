import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { editDistance, nearestWord } from "./nearest-word.ts";

describe("the word that was probably meant", () => {
  const words = ["up", "apply", "get", "delete", "env", "version"];

  test.each([
    ["aply", "apply"],
    ["appyl", "apply"],
    ["delte", "delete"],
    ["remove", undefined],
    ["gte", "get"],
    ["ver", "version"],
    ["x", undefined],
    ["zz", undefined],
  ])("by %s is %s", (typed, meant) => {
    expect(nearestWord(typed, words)).toBe(meant);
  });
});

describe("the distance between words", () => {
  test.each([
    ["", "abc", 3],
    ["abc", "abc", 0],
    ["abc", "acb", 1],
    ["abc", "abd", 1],
    ["kitten", "sitting", 3],
  ])("%s and %s is %d", (from, to, distance) => {
    expect(editDistance(from, to)).toBe(distance);
  });

  test("is the same in both directions and at most the longer length", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 6 });
    fc.assert(
      fc.property(word, word, (a, b) => {
        expect(editDistance(a, b)).toBe(editDistance(b, a));
        expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length));
        expect(editDistance(a, b) === 0).toBe(a === b);
      }),
    );
  });
});
