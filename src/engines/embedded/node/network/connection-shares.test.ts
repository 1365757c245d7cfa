import fc from "fast-check";
import { expect, test } from "vitest";
import { connectionShare, entriesOfAll, entriesOfMachine, wantedEntries } from "./connection-shares.ts";

const GiB = 2 ** 30;

test("a large machine gives each sandbox the full share, and a small one gives less of a smaller table", () => {
  const large = { slots: 64, memoryBytes: 64 * GiB };
  expect(connectionShare(wantedEntries(large), large)).toEqual({ open: 4096, newPerSecond: 200, newAtOnce: 2000 });
  const usual = { slots: 1024, memoryBytes: 24 * GiB };
  expect(wantedEntries(usual)).toBe(5_033_164);
  expect(connectionShare(wantedEntries(usual), usual)).toEqual({ open: 1217, newPerSecond: 200, newAtOnce: 608 });
  const small = { slots: 1024, memoryBytes: 2 * GiB };
  expect(wantedEntries(small)).toBe(419_430);
  expect(connectionShare(wantedEntries(small), small)).toEqual({ open: 692, newPerSecond: 115, newAtOnce: 345 });
});

test("all sandboxes that a machine can carry leave the machine its own part of the table, whatever its size", () => {
  const room = fc.record({ slots: fc.integer({ min: 1, max: 4096 }), memoryBytes: fc.integer({ min: GiB, max: 1024 * GiB }) });
  fc.assert(
    fc.property(room, (one) => {
      const entries = wantedEntries(one);
      expect(entriesOfAll(connectionShare(entries, one), one)).toBeLessThanOrEqual(entries - entriesOfMachine);
    }),
  );
});

test("a full table takes a sixteenth of the memory at most, but is never smaller than usual", () => {
  for (const memoryBytes of [GiB, 8 * GiB, 256 * GiB]) {
    const bytes = wantedEntries({ slots: 4096, memoryBytes }) * 320;
    expect(bytes).toBeLessThanOrEqual(Math.max(memoryBytes / 16, 262_144 * 320));
  }
});

test("a table that stays small gives shares that sandboxes can work with, and so may be filled", () => {
  const room = { slots: 1024, memoryBytes: 64 * GiB };
  const share = connectionShare(65_536, room);
  expect(share).toEqual({ open: 128, newPerSecond: 20, newAtOnce: 60 });
  expect(entriesOfAll(share, room)).toBeGreaterThan(65_536);
});
