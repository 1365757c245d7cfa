/**
 * Cuts a log that has grown too long under the container that writes it: its end is copied aside, then it is emptied. The
 * container appends, so it goes on at the new beginning. What it writes between the copy and the cut is lost.
 */
import { createReadStream, createWriteStream } from "node:fs";
import { rename, rm, truncate } from "node:fs/promises";
import { pipeline } from "node:stream/promises";

export interface LogLimits {
  /** Of one file. */
  readonly maxBytes: number;
  /** Of one attempt of a container, the one that is written to among them. */
  readonly maxFiles: number;
}

export const defaultLogLimits: LogLimits = { maxBytes: 10 * 1024 * 1024, maxFiles: 3 };

/** `leftOut` is how many bytes were not worth keeping. */
export async function rotateLog(file: string, size: number, { maxBytes, maxFiles }: LogLimits): Promise<{ readonly leftOut: number }> {
  const older = (number: number): string => `${file}.${number}`;
  const kept = maxFiles - 1;
  // A writer may have been quicker than we look: of more than fits its end is kept.
  const leftOut = kept > 0 ? Math.max(0, size - maxBytes) : size;
  if (kept > 0) {
    await rm(older(kept), { force: true });
    for (let number = kept - 1; number >= 1; number--) await rename(older(number), older(number + 1)).catch(ignoreMissing);
    await pipeline(createReadStream(file, { start: leftOut }), createWriteStream(older(1)));
  }
  await truncate(file, 0);
  return { leftOut };
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}
