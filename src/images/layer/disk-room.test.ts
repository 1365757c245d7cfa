import { expect, test } from "vitest";
import { type DiskState, lackOfRoom } from "./disk-room.ts";

const gib = 1024 ** 3;

function aDisk(gibTotal: number, gibFree: number, inodes = { files: 1000, ffree: 500 }): DiskState {
  return { bsize: 4096, blocks: (gibTotal * gib) / 4096, bavail: (gibFree * gib) / 4096, ...inodes };
}

test.each([
  // A twentieth of a small disk must stay free, ten GiB of a large one.
  [aDisk(100, 6), 0, undefined, undefined],
  [aDisk(100, 6), 2 * gib, undefined, "6144 MB are free, 2048 MB are needed and 5120 MB must stay free"],
  [aDisk(100, 4), 0, undefined, "4096 MB are free, 0 MB are needed and 5120 MB must stay free"],
  [aDisk(4000, 11), 0, undefined, undefined],
  [aDisk(4000, 11), 2 * gib, undefined, "11264 MB are free, 2048 MB are needed and 10240 MB must stay free"],
  [aDisk(100, 4), gib, 2 * gib, undefined],
  [aDisk(100, 4), gib, 3.5 * gib, "4096 MB are free, 1024 MB are needed and 3584 MB must stay free"],
  [aDisk(100, 50, { files: 1000, ffree: 49 }), 0, undefined, "only 49 of 1000 files can still be made"],
  [aDisk(100, 50, { files: 0, ffree: 0 }), 0, undefined, undefined],
])("%j, %d more bytes, %s in reserve: %s", (disk, bytes, reserve, expected) => {
  expect(lackOfRoom(disk, bytes, reserve)).toBe(expected);
});
