/** Parses multipart/form-data as a stream, part by part, without buffering contents. */

export class MultipartError extends Error {
  override readonly name = "MultipartError";
}

export interface Part {
  readonly name: string | undefined;
  /** Includes folders, as the client sent it. */
  readonly filename: string | undefined;
  /** Must be read to its end before the next part is requested. */
  readonly contents: AsyncIterable<Buffer>;
}

const largestHead = 16 * 1024;

/** The boundary from a content type; undefined if it is not multipart. */
export function boundaryOf(contentType: string | undefined): string | undefined {
  if (!/^multipart\/form-data\s*;/i.test(contentType ?? "")) return undefined;
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(contentType ?? "") ?? [];
  return quoted ?? plain;
}

export async function* readParts(source: AsyncIterable<Buffer>, boundary: string): AsyncGenerator<Part> {
  const bytes = new Bytes(source);
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  // The first boundary may be at the very beginning, without a preceding line break.
  bytes.prepend(Buffer.from("\r\n"));
  for await (const _ of bytes.until(delimiter)) continue;
  for (;;) {
    const tail = await bytes.take(2);
    if (tail === "--") return;
    if (tail !== "\r\n") throw new MultipartError("a boundary is followed by something else than a line end");
    const part = parseHead(await bytes.head());
    const contents = bytes.until(delimiter);
    yield { ...part, contents };
    // Skips content that the caller did not read.
    for await (const _ of contents) continue;
  }
}

function parseHead(text: string): { name: string | undefined; filename: string | undefined } {
  const line = text.split("\r\n").find((own) => /^content-disposition\s*:/i.test(own)) ?? "";
  return { name: parameter(line, "name"), filename: parameter(line, "filename") };
}

function parameter(line: string, name: string): string | undefined {
  const [, extended] = new RegExp(`;\\s*${name}\\*=utf-8''([^;\\s]+)`, "i").exec(line) ?? [];
  if (extended !== undefined) {
    try {
      return decodeURIComponent(extended);
    } catch {
      throw new MultipartError(`the ${name} of a part is not encoded rightly`);
    }
  }
  const [, quoted, plain] = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^;\\s]*))`, "i").exec(line) ?? [];
  // Browsers escape quotes and line breaks this way, and nothing else.
  return (quoted?.replaceAll(/\\(["\\])/g, "$1") ?? plain)?.replaceAll(/%(22|0D|0A)/gi, (own) => decodeURIComponent(own));
}

/** A stream of bytes that can be searched. */
class Bytes {
  readonly #source: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  prepend(bytes: Buffer): void {
    this.#held = Buffer.concat([bytes, this.#held]);
  }

  /** Skips everything before the delimiter. */
  async *until(delimiter: Buffer): AsyncGenerator<Buffer> {
    for (;;) {
      const at = this.#held.indexOf(delimiter);
      if (at >= 0) {
        const before = this.#held.subarray(0, at);
        this.#held = this.#held.subarray(at + delimiter.length);
        if (before.length > 0) yield before;
        return;
      }
      // The delimiter may have begun.
      const sure = Math.max(0, this.#held.length - delimiter.length + 1);
      const before = this.#held.subarray(0, sure);
      this.#held = this.#held.subarray(sure);
      if (before.length > 0) yield before;
      await this.#more();
    }
  }

  async take(length: number): Promise<string> {
    while (this.#held.length < length) await this.#more();
    const text = this.#held.toString("latin1", 0, length);
    this.#held = this.#held.subarray(length);
    return text;
  }

  /** Header lines up to the empty one. */
  async head(): Promise<string> {
    for (;;) {
      const at = this.#held.indexOf("\r\n\r\n");
      if (at >= 0) {
        const text = this.#held.toString("utf8", 0, at);
        this.#held = this.#held.subarray(at + 4);
        return text;
      }
      if (this.#held.length > largestHead) throw new MultipartError(`the headers of a part have more than ${largestHead} bytes`);
      await this.#more();
    }
  }

  async #more(): Promise<void> {
    const next = await this.#source.next();
    if (next.done === true) throw new MultipartError("the body ends inside a part");
    this.#held = this.#held.length === 0 ? next.value : Buffer.concat([this.#held, next.value]);
  }
}
