/**
 * Reads what a container has written, and goes on reading while it writes. The container can give its file any size without writing
 * anything (`ftruncate`), so no more is read of a file than its next cut would keep: the last `maxBytes`.
 */
import { open, stat } from "node:fs/promises";
import { type Clock, sleep } from "#lib/clock.ts";
import { lastLines } from "./last-lines.ts";

export interface LogRange {
  /** Only so many lines from the end. */
  readonly tail?: number | undefined;
  /** Only what was written since then, to the second or so. */
  readonly since?: number | undefined;
  /** Aborted when the caller is gone: reading stops at the next piece, found or not. */
  readonly signal?: AbortSignal | undefined;
}

export interface LogToRead extends LogRange {
  /** The file that is written to; older ones stand beside it. */
  readonly file: string;
  readonly maxFiles: number;
  /** That are kept of one file, and read. */
  readonly maxBytes: number;
  /** Where in the file the time `since` is. */
  readonly offsetAt: (since: number) => number;
}

export interface Follow {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly cuts: () => LogCuts;
  /** False when no process will write to it any more. */
  readonly isWritten: () => Promise<boolean>;
}

export interface LogCuts {
  /** How often the file has been cut so far. */
  readonly count: number;
  /** What the last cut left out at the beginning of what it kept. */
  readonly leftOut: number;
}

const chunkBytes = 64 * 1024;
const lookEveryMs = 100;

/** A part of a file. */
export interface Piece {
  readonly file: string;
  readonly from: number;
  readonly to: number;
}

/** The text so far, in order. Returns where in the file that is written to it ended. */
export async function* readLog(log: LogToRead): AsyncGenerator<Buffer, number> {
  const pieces = await piecesOf(log);
  const wanted = log.tail === undefined ? pieces : await lastLines(pieces, log.tail, log.signal);
  let at = pieces.at(-1)?.to ?? 0;
  for (const piece of wanted) at = yield* readPiece(piece, log.signal);
  return at;
}

export async function* followLog(log: LogToRead, { clock, signal, cuts, isWritten }: Follow): AsyncGenerator<Buffer, void> {
  let seen = cuts().count;
  let at = yield* readLog(log);
  while (!signal.aborted) {
    // Asked before looking: what is written before the end is not missed.
    const goesOn = await isWritten();
    const { count, leftOut } = cuts();
    if (count !== seen) {
      const before = `${log.file}.1`;
      yield* readPiece(lastOf(log, { file: before, from: Math.max(0, at - leftOut), to: await sizeOf(before) }), signal);
      [seen, at] = [count, 0];
    }
    const size = await sizeOf(log.file);
    if (size > at) {
      // Only as far as it was read: the file may have been cut meanwhile.
      at = yield* readPiece(lastOf(log, { file: log.file, from: at, to: size }), signal);
    } else if (!goesOn) return;
    else await sleep(clock, lookEveryMs, signal).catch(() => {});
  }
}

async function piecesOf(log: LogToRead): Promise<readonly Piece[]> {
  const { file, maxFiles, since, offsetAt } = log;
  const pieces: Piece[] = [];
  for (let number = maxFiles - 1; number >= 1; number--) {
    const about = await stat(`${file}.${number}`).catch(() => undefined);
    if (about !== undefined && (since === undefined || about.mtimeMs >= since))
      pieces.push({ file: `${file}.${number}`, from: 0, to: about.size });
  }
  const size = await sizeOf(file);
  pieces.push({ file, from: since === undefined ? 0 : Math.min(size, offsetAt(since)), to: size });
  return pieces.map((piece) => lastOf(log, piece));
}

function lastOf({ maxBytes }: LogToRead, { file, from, to }: Piece): Piece {
  return { file, from: Math.max(from, to - maxBytes), to };
}

async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => undefined))?.size ?? 0;
}

/** Returns where it ended. */
async function* readPiece({ file, from, to }: Piece, signal: AbortSignal | undefined): AsyncGenerator<Buffer, number> {
  if (from >= to) return from;
  await using handle = await open(file, "r");
  let at = from;
  while (at < to) {
    if (signal?.aborted === true) return at;
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(Math.min(chunkBytes, to - at)), { position: at });
    if (bytesRead === 0) return at;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
  return at;
}
