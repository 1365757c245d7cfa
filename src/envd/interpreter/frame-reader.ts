/**
 * Finds a runner's frames in the output of the code: a zero byte and the mark, `+` if more follows or `.`, JSON, and a line end. The mark is a random
 * text, so that no output looks like a frame by accident.
 */
export type OutputPart = { readonly kind: "text"; readonly bytes: Buffer } | { readonly kind: "frame"; readonly text: string };

export class FrameReader {
  readonly #start: Buffer;
  #rest = Buffer.alloc(0);
  #frame: Buffer[] = [];

  constructor(mark: string) {
    this.#start = Buffer.from(`\0${mark}`);
  }

  *push(chunk: Buffer): Generator<OutputPart> {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const at = bytes.indexOf(this.#start);
      const end = at < 0 ? -1 : bytes.indexOf(10, at);
      const textEnd = at < 0 ? bytes.length - this.#openEnd(bytes) : at;
      if (textEnd > 0) yield { kind: "text", bytes: bytes.subarray(0, textEnd) };
      if (end < 0) {
        this.#rest = Buffer.from(bytes.subarray(textEnd));
        return;
      }
      const whole = this.#take(bytes.subarray(at + this.#start.length, end));
      if (whole !== undefined) yield { kind: "frame", text: whole };
      bytes = bytes.subarray(end + 1);
    }
  }

  #take(piece: Buffer): string | undefined {
    this.#frame.push(piece.subarray(1));
    if (piece[0] === 0x2b) return undefined;
    const text = Buffer.concat(this.#frame).toString("utf8");
    this.#frame = [];
    return text;
  }

  /** Number of last bytes that may be the beginning of a frame. */
  #openEnd(bytes: Buffer): number {
    const zero = bytes.lastIndexOf(0);
    const length = bytes.length - zero;
    const isStart = zero >= 0 && length < this.#start.length && bytes.subarray(zero).equals(this.#start.subarray(0, length));
    return isStart ? length : 0;
  }
}
