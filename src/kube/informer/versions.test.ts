import * as fc from "fast-check";
import { expect, test } from "vitest";
import { compareVersions, newerVersion } from "./versions.ts";

const version = fc.bigInt({ min: 0n, max: 2n ** 70n });

test("versions are ordered as the integers that they are, beyond what a number can hold", () => {
  fc.assert(
    fc.property(version, version, (a, b) => {
      expect(Math.sign(compareVersions(String(a), String(b)))).toBe(a < b ? -1 : a > b ? 1 : 0);
      expect(newerVersion(String(a), String(b))).toBe(String(a > b ? a : b));
    }),
  );
});

test.for([
  ["9", "10"],
  ["99", "100"],
  ["9007199254740993", "9007199254740994"],
] as const)("%s is older than %s", ([older, newer]) => {
  expect(compareVersions(older, newer)).toBeLessThan(0);
  expect(compareVersions(newer, older)).toBeGreaterThan(0);
});
