/**
 * Cuts a log that has grown too long under the container that writes it: its end is copied aside, then it is emptied. The
 * container appends, so it goes on at the new beginning. What it writes between the last look and the cut, which follow
 * each other at once, is lost.
 */
import { createReadStream, createWriteStream, statSync, truncateSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";

export interface LogLimits {
  /** Of one file. */
  readonly maxBytes: number;
  /** Of one attempt of a container, the one that is written to among them. */
  readonly maxFiles: number;
}

export const defaultLogLimits: LogLimits = { maxBytes: 10 * 1024 * 1024, maxFiles: 3 };

/** Who writes faster than we copy loses some of it. */
const maxRounds = 5;

/** `leftOut` is how many bytes at the beginning were not worth keeping. */
export async function rotateLog(file: string, size: number, { maxBytes, maxFiles }: LogLimits): Promise<{ readonly leftOut: number }> {
  const kept = maxFiles - 1;
  // A writer may have been quicker than we look: of more than fits its end is kept.
  const leftOut = kept > 0 ? Math.max(0, size - maxBytes) : size;
  if (kept > 0) {
    await shift(file, kept);
    await copyAside(file, leftOut, leftOut + 2 * maxBytes);
  }
  truncateSync(file, 0);
  return { leftOut };
}

async function shift(file: string, kept: number): Promise<void> {
  await rm(`${file}.${kept}`, { force: true });
  for (let number = kept - 1; number >= 1; number--) await rename(`${file}.${number}`, `${file}.${number + 1}`).catch(ignoreMissing);
}

/**
 * Copies until there is nothing more to copy, in the same moment as the caller goes on. A file that is longer than `limit` by now has a
 * writer who is faster than anybody reads, or who made it look endless since it was looked at: the machine's disk is not his to fill.
 */
async function copyAside(file: string, from: number, limit: number): Promise<void> {
  let copied = from;
  for (let round = 0; round < maxRounds; round++) {
    const { size } = statSync(file);
    if (size <= copied || size > limit) return;
    await pipeline(createReadStream(file, { start: copied, end: size - 1 }), createWriteStream(`${file}.1`, { flags: "a" }));
    copied = size;
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}
