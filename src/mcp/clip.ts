/** Outputs within bounds. Pure. */
import { GrowingBuffer } from "#lib/growing-buffer.ts";

export interface Clipped {
  readonly text: string;
  /** Bytes in the middle that are not shown. */
  readonly left: number;
}

/** The beginning and the end: what a command began with, and how it ended. */
export function clip(bytes: Buffer, limit: number): Clipped {
  if (bytes.length <= limit) return { text: bytes.toString("utf8"), left: 0 };
  const half = Math.floor(limit / 2);
  const head = bytes.subarray(0, characterStart(bytes, half));
  const tail = bytes.subarray(characterStart(bytes, bytes.length - half));
  const left = bytes.length - head.length - tail.length;
  return { text: `${head.toString("utf8")}\n[… ${left} bytes left out …]\n${tail.toString("utf8")}`, left };
}

/** The place at or before `at` that is not inside of a character. */
function characterStart(bytes: Buffer, at: number): number {
  let start = at;
  while (start > 0 && at - start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1;
  return start;
}

/**
 * The text of a piece of a file, without a character that its end cuts in two; undefined when it is no text. `isLast`: nothing follows, so a
 * character that is cut there is none.
 */
export function textOfPiece(bytes: Buffer, isLast: boolean): { readonly text: string; readonly used: number } | undefined {
  const cut = isLast ? 0 : incompleteEnd(bytes);
  const whole = bytes.subarray(0, bytes.length - cut);
  if (whole.includes(0)) return undefined;
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(whole), used: whole.length };
  } catch {
    return undefined;
  }
}

/** How many bytes at the end are the beginning of a character. */
function incompleteEnd(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

/** What comes, kept up to a limit; the rest is only counted. */
export class Collected {
  readonly #limit: number;
  readonly #kept = new GrowingBuffer();
  #written = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(chunk: Buffer): void {
    this.#written += chunk.length;
    this.#kept.add(chunk.subarray(0, this.#limit - this.#kept.size));
  }

  get bytes(): Buffer {
    return this.#kept.bytes();
  }

  /** Bytes that came and were not kept. */
  get lost(): number {
    return this.#written - this.#kept.size;
  }
}
