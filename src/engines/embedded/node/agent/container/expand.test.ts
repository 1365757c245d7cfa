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
])("%s becomes %s", (text, expanded) => expect(expand(text, variables)).toBe(expanded));
