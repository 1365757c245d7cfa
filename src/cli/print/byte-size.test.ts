import * as fc from "fast-check";
import { expect, test } from "vitest";
import { byteSize, parseByteSize } from "./byte-size.ts";

test.each([
  [0, "0B"],
  [999, "999B"],
  [1000, "1kB"],
  [1500, "1.5kB"],
  [99_949, "99.9kB"],
  [99_960, "100kB"],
  [999_499, "999kB"],
  [999_500, "1MB"],
  [23_400_000, "23.4MB"],
  [105_000_000_000, "105GB"],
  [5e15, "5000TB"],
])("%i is %s", (bytes, text) => {
  expect(byteSize(bytes)).toBe(text);
});

test.each([
  ["1000", 1000],
  ["10GB", 1e10],
  ["10g", 1e10],
  ["512Mi", 512 * 1024 ** 2],
  ["512MiB", 512 * 1024 ** 2],
  ["1.5 k", 1500],
  ["0", 0],
  ["", undefined],
  ["GB", undefined],
  ["-1", undefined],
  ["1x", undefined],
])("%j is %s bytes", (text, bytes) => {
  expect(parseByteSize(text)).toBe(bytes);
});

test("a size that is written is read as nearly the same", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1e15 }), (bytes) => {
      const read = parseByteSize(byteSize(bytes)) ?? Number.NaN;
      expect(Math.abs(read - bytes)).toBeLessThanOrEqual(bytes * 0.06);
    }),
  );
});
