import { expect, test } from "vitest";
import { hasResourceCapability, openFilesLimit } from "./process-limits.ts";

test.each([
  ["000001ffffffffff", true],
  ["000001fffeffffff", false],
  ["0000000001000000", true],
  ["0000000000000000", false],
])("of the capabilities %s the one for limits is there: %s", (effective, isThere) => {
  expect(hasResourceCapability(`CapPrm:\t000001ffffffffff\nCapEff:\t${effective}\nCapBnd:\t000001ffffffffff\n`)).toBe(isThere);
});

test("the limit of open files is the hard one", () => {
  const limits = (hard: string): string =>
    `Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 ${hard}              files\n`;
  expect(openFilesLimit(limits("20000"))).toBe(20_000);
  expect(openFilesLimit(limits("unlimited"))).toBe(Number.POSITIVE_INFINITY);
});
