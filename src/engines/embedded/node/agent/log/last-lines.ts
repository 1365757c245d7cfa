import { open } from "node:fs/promises";
import type { Piece } from "./read-log.ts";

const chunkBytes = 64 * 1024;
const newline = 10;

/** The pieces that hold the last `count` lines of all of them together. */
export async function lastLines(pieces: readonly Piece[], count: number, signal?: AbortSignal): Promise<readonly Piece[]> {
  // The newline that ends the last line begins none.
  let missing = count + 1;
  let isEnd = true;
  const kept: Piece[] = [];
  for (const piece of pieces.toReversed()) {
    if (count <= 0 || signal?.aborted === true) return [];
    const { from, left, empty } = await cut(piece, { missing, isEnd, signal });
    kept.unshift({ ...piece, from });
    if (left === 0) return kept;
    missing = left;
    isEnd &&= empty;
  }
  return kept;
}

interface Search {
  /** Newlines. */
  readonly missing: number;
  /** Nothing comes behind the piece. */
  readonly isEnd: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Where in the piece the wanted lines begin, and how many newlines are still missing (0: found). */
async function cut({ file, from, to }: Piece, { missing, isEnd, signal }: Search): Promise<{ from: number; left: number; empty: boolean }> {
  if (from >= to) return { from, left: missing, empty: true };
  await using handle = await open(file, "r");
  let left = missing;
  for (let end = to; end > from;) {
    if (signal?.aborted === true) break;
    const start = Math.max(from, end - chunkBytes);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - start), { position: start });
    for (let index = bytesRead - 1; index >= 0; index--) {
      // A last line without a newline is a line too.
      const isLast = isEnd && start + index === to - 1;
      if (isLast && buffer[index] !== newline) left -= 1;
      if (buffer[index] === newline) left -= 1;
      if (left === 0) return { from: start + index + 1, left, empty: false };
    }
    end = start;
  }
  return { from, left, empty: false };
}
