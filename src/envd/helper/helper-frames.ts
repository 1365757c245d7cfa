/** Messages between the daemon and its helper: a size, then 4-byte numbers, zero-terminated texts, and bytes. `wire.h` reads the same form. Pure. */

/** The largest frame of the helper (`frame_room` of wire.h). */
const mostBytes = 4 * 1024 * 1024;

export class FrameTooLong extends Error {
  override readonly name = "FrameTooLong";
}

/** Throws FrameTooLong. Callers have already refused texts with a zero byte. */
export function frameOf(fields: Iterable<number | string>): Buffer {
  const parts: Buffer[] = [];
  for (const field of fields) {
    if (typeof field === "number") parts.push(numberBytes(field));
    else if (field.includes("\0")) throw new TypeError("a text for the helper has a zero byte");
    else parts.push(Buffer.from(`${field}\0`));
  }
  const content = Buffer.concat(parts);
  if (content.length > mostBytes) throw new FrameTooLong(`${content.length} bytes are too many; at most ${mostBytes} are possible`);
  return Buffer.concat([numberBytes(content.length), content]);
}

function numberBytes(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(number);
  return bytes;
}

/** The content of the first frame and what follows it; undefined until the whole frame is there. */
export function firstFrame(received: Buffer): { readonly content: Buffer; readonly rest: Buffer } | undefined {
  if (received.length < 4) return undefined;
  const end = 4 + received.readUInt32LE(0);
  return received.length < end ? undefined : { content: received.subarray(4, end), rest: received.subarray(end) };
}

/** The fields of a frame in order. Throws RangeError beyond the last one. */
export class FrameFields {
  readonly #content: Buffer;
  #at = 0;

  constructor(content: Buffer) {
    this.#content = content;
  }

  number(): number {
    this.#at += 4;
    return this.#content.readUInt32LE(this.#at - 4);
  }

  text(): string {
    const zero = this.#content.indexOf(0, this.#at);
    if (zero < 0) throw new RangeError("the helper's frame ends in a text");
    const text = this.#content.toString("utf8", this.#at, zero);
    this.#at = zero + 1;
    return text;
  }

  /** Bytes with their size in front, for arbitrary content. */
  sizedText(): string {
    const size = this.number();
    this.#at += size;
    return this.#content.toString("utf8", this.#at - size, this.#at);
  }
}
