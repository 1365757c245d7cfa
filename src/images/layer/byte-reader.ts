/** Reads a stream of chunks by counts of bytes, copying as little as it can. */
import { ImageError } from "../image-error.ts";

const empty = Buffer.alloc(0);

export class ByteReader {
  readonly #source: AsyncIterator<Buffer>;
  #chunk: Buffer = empty;

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Exactly `count` bytes; undefined if the stream ended before the first of them. */
  async take(count: number): Promise<Buffer | undefined> {
    const found = await this.peek(count);
    if (found.length < count) {
      if (found.length === 0) return undefined;
      throw cutOff();
    }
    this.#chunk = this.#chunk.subarray(count);
    return found;
  }

  /** The next `count` bytes, or fewer at the end, without taking them. */
  async peek(count: number): Promise<Buffer> {
    if (this.#chunk.length === 0) await this.#next();
    const parts = [this.#chunk];
    let length = this.#chunk.length;
    while (length < count && (await this.#next())) {
      parts.push(this.#chunk);
      length += this.#chunk.length;
    }
    this.#chunk = parts.length === 1 ? this.#chunk : Buffer.concat(parts);
    return this.#chunk.subarray(0, count);
  }

  /** Everything that is left, chunk by chunk. */
  async *rest(): AsyncGenerator<Buffer, void> {
    try {
      while (this.#chunk.length > 0 || (await this.#next())) {
        const chunk = this.#chunk;
        this.#chunk = empty;
        yield chunk;
      }
    } finally {
      // A reader that stops early does not need the source any more: this closes files.
      await this.#source.return?.();
    }
  }

  /** At least one and at most `count` bytes, whatever is at hand. */
  async some(count: number): Promise<Buffer> {
    if (this.#chunk.length === 0 && !(await this.#next())) throw cutOff();
    const taken = this.#chunk.subarray(0, count);
    this.#chunk = this.#chunk.subarray(taken.length);
    return taken;
  }

  async skip(count: number): Promise<void> {
    for (let left = count; left > 0;) left -= (await this.some(left)).length;
  }

  /** Reads what is left and throws it away. */
  async drain(): Promise<void> {
    do this.#chunk = empty;
    while (await this.#next());
  }

  async #next(): Promise<boolean> {
    for (;;) {
      const { done, value } = await this.#source.next();
      if (done === true) return false;
      this.#chunk = value;
      if (value.length > 0) return true;
    }
  }
}

function cutOff(): ImageError {
  return new ImageError("broken_content", "the archive is cut off: it ends in the middle of an entry");
}
