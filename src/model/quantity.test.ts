import { expect, test } from "vitest";
import { multipliedQuantity, parseQuantity } from "./quantity.ts";

test.each([
  ["500m", 0.5],
  ["2", 2],
  ["1.5Gi", 1.5 * 2 ** 30],
  ["1.", 1],
  [".5", 0.5],
  ["-3k", -3000],
  ["2e3", 2000],
  ["2E3", 2000],
  ["1E", 1e18],
  [4, 4],
])("%s is %d", (text, value) => expect(parseQuantity(text)).toBe(value));

test.each(["", ".", "x", "1x", "1.2.3", "--1", "1 Gi", undefined, `${"1".repeat(900_000)}x`])("%# is no quantity", (text) => {
  expect(parseQuantity(text)).toBeUndefined();
});

test.each([
  ["512Mi", 3, "1536Mi"],
  ["100m", 3, "300m"],
  ["0.1", 3, "0.3"],
  [2, 4, "8"],
  ["1e3", 2, "2e3"],
])("%s times %d is %s", (quantity, by, product) => expect(multipliedQuantity(quantity, by)).toBe(product));
