/** Messages of a stream: one byte of flags, four of length, then the message. */
import { ConnectError } from "./connect-error.ts";

export const compressedFlag = 1;
export const endFlag = 2;
const headSize = 5;

export interface Frame {
  readonly flags: number;
  readonly payload: Buffer;
}

export function frame(flags: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(headSize);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}

/** Collects bytes and yields complete frames. */
export class FrameReader {
  readonly #limit: number;
  #chunks: Buffer[] = [];
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Throws ConnectError when a frame announces more than is allowed. */
  push(chunk: Buffer): Frame[] {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    const frames: Frame[] = [];
    for (;;) {
      const length = this.#announced();
      if (length === undefined || this.#size < headSize + length) return frames;
      const bytes = this.#joined();
      frames.push({ flags: bytes.readUInt8(0), payload: bytes.subarray(headSize, headSize + length) });
      this.#chunks = [bytes.subarray(headSize + length)];
      this.#size = bytes.length - headSize - length;
    }
  }

  /** Throws ConnectError when the stream ended inside a frame. */
  end(): void {
    if (this.#size > 0) throw new ConnectError("invalid_argument", `the stream ends after ${this.#size} bytes of a message`);
  }

  #announced(): number | undefined {
    if (this.#size < headSize) return undefined;
    // Joined only while the header is in pieces, so that a large message in many chunks is joined once.
    const head = (this.#chunks[0]?.length ?? 0) >= headSize ? this.#chunks[0] : this.#joined();
    const length = head?.readUInt32BE(1) ?? 0;
    if (length > this.#limit)
      throw new ConnectError("resource_exhausted", `a message has ${length} bytes; at most ${this.#limit} are taken`);
    return length;
  }

  #joined(): Buffer {
    const bytes = Buffer.concat(this.#chunks);
    this.#chunks = [bytes];
    return bytes;
  }
}
