import { expect, test } from "vitest";
import { complaintAboutSize, usualSize } from "./build-size.ts";

test("cores are 1 or even, and memory is even from 128 MB on", () => {
  expect(complaintAboutSize(usualSize)).toBeUndefined();
  expect(complaintAboutSize({ cpuCount: 1, memoryMB: 128 })).toBeUndefined();
  for (const cpuCount of [0, 3, 33, 1.5]) expect(complaintAboutSize({ cpuCount, memoryMB: 128 })?.field).toBe("cpuCount");
  for (const memoryMB of [127, 129, 126, Number.NaN]) expect(complaintAboutSize({ cpuCount: 2, memoryMB })?.field).toBe("memoryMB");
});
