import { expect, test } from "vitest";
import { defaultLimits, limitsLeft } from "./limits.ts";

const mib = 1024 ** 2;
const none = { bytes: 0, entries: 0 };

test.each([
  ["an ordinary image", 500 * mib, none, 32 * 1024 * mib],
  ["a small image", 10 * mib, none, 1000 * mib],
  ["a tiny one", 1000, none, 256 * mib],
  ["a tiny one whose layers have used some", 1000, { bytes: 200 * mib, entries: 5 }, 56 * mib],
  ["a tiny one whose layers have used it up", 1000, { bytes: 300 * mib, entries: 5 }, 0],
])("%s may unpack to so much", (_what, compressed, spent, bytes) => {
  const left = limitsLeft(defaultLimits, compressed, spent);
  expect(left.maxBytes).toBe(bytes);
  expect(left.maxEntries).toBe(1_000_000 - spent.entries);
});
