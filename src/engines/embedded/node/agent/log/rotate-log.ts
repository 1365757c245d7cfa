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

/** A container that writes faster than we copy loses some of its output. */
const maxRounds = 5;

/** `leftOut` is how many bytes at the beginning were not worth keeping. */
export async function rotateLog(file: string, size: number, { maxBytes, maxFiles }: LogLimits): Promise<{ readonly leftOut: number }> {
  const kept = maxFiles - 1;
  let leftOut = size;
  if (kept > 0) {
    await shift(file, kept);
    leftOut = await copyEndAside(file, size, maxBytes);
  }
  truncateSync(file, 0);
  return { leftOut };
}

async function shift(file: string, kept: number): Promise<void> {
  await rm(`${file}.${kept}`, { force: true });
  for (let number = kept - 1; number >= 1; number--) await rename(`${file}.${number}`, `${file}.${number + 1}`).catch(ignoreMissing);
}

/**
 * Copies until the end of the file, and returns the offset at which the kept part begins. The caller truncates the file in the same
 * turn of the event loop, so no output falls between. If there is more than fits, the end is kept. When the file has meanwhile grown by
 * more than `maxBytes`, its end is copied once more and no further: its writer is faster than any reader, or made the file sparse to look
 * huge, and must not keep the node busy.
 */
async function copyEndAside(file: string, sizeAtLook: number, maxBytes: number): Promise<number> {
  let from = Math.max(0, sizeAtLook - maxBytes);
  let copied = from;
  for (let round = 0; round < maxRounds; round++) {
    const { size } = statSync(file);
    if (size <= copied) break;
    if (size - from > maxBytes) from = copied = size - maxBytes;
    const flags = copied === from ? "w" : "a";
    await pipeline(createReadStream(file, { start: copied, end: size - 1 }), createWriteStream(`${file}.1`, { flags }));
    copied = size;
    if (size > sizeAtLook + maxBytes) break;
  }
  return from;
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}
