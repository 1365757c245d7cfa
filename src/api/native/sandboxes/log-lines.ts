/** Bytes as lines of text. A line longer than `longest` comes in parts, so that a sandbox cannot fill the server's or a client's memory. */
export interface LinePart {
  readonly line: string;
  /** True if the line continues in the next part. */
  readonly partial: boolean;
}

export class LogLines {
  readonly #longest: number;
  // Shows bytes that are not UTF-8 as replacement characters; a character may be split between two pieces.
  readonly #decoder = new TextDecoder();
  #rest = "";

  constructor(longest = 64 * 1024) {
    this.#longest = longest;
  }

  *add(bytes: Buffer): Generator<LinePart> {
    const [first = "", ...others] = this.#decoder.decode(bytes, { stream: true }).split("\n");
    this.#rest += first;
    for (const next of others) {
      yield* this.#parts();
      yield { line: this.#rest, partial: false };
      this.#rest = next;
    }
    yield* this.#parts();
  }

  /** The text after the last line break. */
  *end(): Generator<LinePart> {
    this.#rest += this.#decoder.decode();
    if (this.#rest !== "") yield { line: this.#rest, partial: false };
    this.#rest = "";
  }

  *#parts(): Generator<LinePart> {
    while (this.#rest.length > this.#longest) {
      // Do not split a surrogate pair.
      const last = this.#rest.charCodeAt(this.#longest - 1);
      const at = last >= 0xd800 && last < 0xdc00 ? this.#longest - 1 : this.#longest;
      yield { line: this.#rest.slice(0, at), partial: true };
      this.#rest = this.#rest.slice(at);
    }
  }
}

/** The newest lines of a log, within a number of characters. */
export class NewestLines {
  readonly #most: number;
  #lines: string[] = [];
  #size = 0;
  #open = false;
  #truncated = false;

  constructor(most: number) {
    this.#most = most;
  }

  add({ line, partial }: LinePart): void {
    if (this.#open) this.#lines.push((this.#lines.pop() ?? "") + line);
    else this.#lines.push(line);
    // The line break counts too: empty lines also use memory.
    this.#size += line.length + (this.#open ? 0 : 1);
    this.#open = partial;
    // Rarely, because it copies what is kept.
    if (this.#size > 2 * this.#most) this.#shorten();
  }

  result(): { readonly lines: readonly string[]; readonly truncated: boolean } {
    this.#shorten();
    return { lines: this.#lines, truncated: this.#truncated };
  }

  #shorten(): void {
    let drop = 0;
    for (; this.#size > this.#most && drop < this.#lines.length - 1; drop++) this.#size -= (this.#lines[drop]?.length ?? 0) + 1;
    this.#truncated ||= drop > 0;
    this.#lines = this.#lines.slice(drop);
    if (this.#size <= this.#most) return;
    // A single line is too long: keep its end.
    this.#lines = [(this.#lines[0] ?? "").slice(1 - this.#most)];
    this.#size = this.#most;
    this.#truncated = true;
  }
}
