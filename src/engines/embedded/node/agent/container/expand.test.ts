import { expect, test } from "vitest";
import { expand } from "./expand.ts";

const variables = new Map([
  ["A", "1"],
  ["EMPTY", ""],
  ["NESTED", "$(A)"],
]);

test.each([
  ["$(A)", "1"],
  ["x$(A)y$(A)", "x1y1"],
  ["$(EMPTY)", ""],
  ["$(MISSING)", "$(MISSING)"],
  ["$$(A)", "$(A)"],
  ["$$$(A)", "$1"],
  ["$A", "$A"],
  ["$", "$"],
  ["$(A", "$(A"],
  ["$(NESTED)", "$(A)"],
  ["100$ and $(A)", "100$ and 1"],
  ["$(A) $$ $(A", "1 $ $(A"],
  ["$(A $(A) $(A", "$(A $(A) $(A"],
])("%s becomes %s", (text, expanded) => expect(expand(text, variables)).toBe(expanded));

test("names that end nowhere are not looked for from each of their beginnings: a text of them stays as it is", () => {
  // With a look to the end from each, this would be 2 × 10¹¹ characters.
  const hostile = "$(".repeat(450_000);
  expect(expand(hostile, variables)).toBe(hostile);
});
