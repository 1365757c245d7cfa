import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalQuantity, multipliedQuantity, parseQuantity, quantityNumber, QuantityError } from "./quantity.ts";

// The right side is what a kube-apiserver 1.36.3 gave back.
test.each([
  ["0", "0"],
  ["-0", "0"],
  ["0.000", "0"],
  ["0Ki", "0"],
  ["1", "1"],
  ["1.0", "1"],
  ["1000m", "1"],
  ["0.5", "500m"],
  [".5", "500m"],
  ["1.5k", "1500"],
  ["1000", "1k"],
  ["1500", "1500"],
  ["12000", "12k"],
  ["1000000", "1M"],
  ["1000M", "1G"],
  ["1024M", "1024M"],
  ["1024Ki", "1Mi"],
  ["1024", "1024"],
  ["1.5Gi", "1536Mi"],
  ["0.5Gi", "512Mi"],
  ["512000Mi", "500Gi"],
  ["1000Ki", "1000Ki"],
  ["0.5Ki", "512"],
  ["1.5Ki", "1536"],
  ["1.1Ki", "1126400m"],
  ["2531.25Ki", "2592k"],
  ["100u", "1m"],
  ["1n", "1m"],
  ["1.0001", "1001m"],
  ["1e3", "1e3"],
  ["1E3", "1E3"],
  ["1e1", "10"],
  ["10e1", "100"],
  ["1000e3", "1e6"],
  ["1e-9", "1e-3"],
  ["1E", "1E"],
  ["+1", "+1"],
  ["1.500", "1.500"],
  ["3.10", "3100m"],
  ["-1", "-1"],
  ["-0.5", "-500m"],
  ["Ki", "0"],
])("%s is kept as %s", (given, kept) => {
  expect(canonicalQuantity(given)).toBe(kept);
});

test.each(["", "x", "1.5.5", "1 Gi", "1gi", "1KiB", "0x10", "1_000"])("%o is no quantity", (text) => {
  expect(() => canonicalQuantity(text)).toThrow("quantities must match the regular expression");
});

test("an exponent has a number", () => {
  expect(() => parseQuantity("1e")).toThrow(new QuantityError("unable to parse quantity's suffix"));
});

const quantity = fc
  .tuple(
    fc.constantFrom("", "-"),
    fc.nat(2_000_000),
    fc.constantFrom("", ".5", ".25", ".125", ".001"),
    fc.constantFrom("", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "E-2"),
  )
  .map((parts) => parts.join(""));

test("the canonical form says the same amount, down to a thousandth", () => {
  fc.assert(
    fc.property(quantity, (text) => {
      const milli = 1_000_000n;
      const exact = parseQuantity(text).nanos;
      const kept = parseQuantity(canonicalQuantity(text)).nanos;
      expect(kept % milli).toBe(0n);
      const difference = exact < 0n ? exact - kept : kept - exact;
      expect(difference >= 0n && difference < milli).toBe(true);
    }),
  );
});

test("the canonical form is its own canonical form", () => {
  fc.assert(
    fc.property(quantity, (text) => {
      const kept = canonicalQuantity(text);
      expect(canonicalQuantity(kept)).toBe(kept);
    }),
  );
});

test.each([
  ["1".repeat(101), "at most 100 characters"],
  [`${"1".repeat(900_000)}x`, "at most 100 characters"],
  ["1e1000", "the exponent of a quantity is at most 999"],
  ["1e-1000", "the exponent of a quantity is at most 999"],
  ["1e999999999", "the exponent of a quantity is at most 999"],
])("nothing is computed with a quantity beyond all measure (%#): it is refused by its size", (text, message) => {
  expect(() => canonicalQuantity(text)).toThrow(message);
  expect(() => parseQuantity(text)).toThrow(message);
});

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
  ["9007199254740991", 9007199254740991],
  ["1k", 1000],
  ["2Ki", 2048],
  ["12E", 12e18],
  // As the API server reads it.
  ["Gi", 0],
  [4, 4],
  [0.1, 0.1],
])("%s is the number %d", (text, value) => expect(quantityNumber(text)).toBe(value));

test.each(["", "x", "1x", "1.2.3", "--1", "1 Gi", "1KiB", "1e", undefined, `${"1".repeat(900_000)}x`])("%# is no number", (text) => {
  expect(quantityNumber(text)).toBeUndefined();
});

test.each([
  ["512Mi", 3, "1536Mi"],
  ["100m", 3, "300m"],
  ["0.1", 3, "0.3"],
  [2, 4, "8"],
  ["1e3", 2, "2e3"],
])("%s times %d is %s", (given, by, product) => expect(multipliedQuantity(given, by)).toBe(product));
