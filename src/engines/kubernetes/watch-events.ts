/** A watch's answer, a stream of JSON lines cut anywhere, as events. */
import { ApiError } from "#kube/api-error.ts";
import type { WatchEvent } from "#kube/object-client.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";
import { decodeObject, parseJson, type DecodeOptions } from "./decode-objects.ts";
import { errorFromStatus } from "./status-error.ts";

const newline = 0x0a;

/** Puts lines together from chunks. It works on bytes: a character may be cut in two, a line end cannot be part of one. */
export class LineBuffer {
  readonly #maxBytes: number;
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that `chunk` completes. */
  push(chunk: Buffer): readonly string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      lines.push(this.#take(chunk.subarray(from, end)));
      from = end + 1;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
    return lines;
  }

  /** True when the stream ended inside a line. */
  get isCut(): boolean {
    return this.#pendingBytes > 0;
  }

  #keep(part: Buffer): void {
    this.#pending.push(part);
    this.#pendingBytes += part.length;
    if (this.#pendingBytes > this.#maxBytes) {
      throw new ApiError("Unknown", `a watch event is longer than ${this.#maxBytes} bytes`);
    }
  }

  #take(part: Buffer): string {
    if (this.#pendingBytes === 0) return part.toString("utf8");
    const line = Buffer.concat([...this.#pending, part]).toString("utf8");
    this.#pending = [];
    this.#pendingBytes = 0;
    return line;
  }
}

/** An object of the kind, a bare one that only holds a version, or a Status. */
type WireObject = ApiObject & Parameters<typeof errorFromStatus>[0];

/** Throws what an ERROR event says. */
export function decodeEvent<T extends ApiObject>(
  type: ResourceType<T>,
  line: string,
  request: string,
  options: DecodeOptions,
): WatchEvent<T> {
  const event = parseJson(line, request) as { readonly type?: string; readonly object?: WireObject };
  switch (event.type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return Object.freeze({ type: event.type, object: decodeObject(type, event.object, options) });
    case "BOOKMARK":
      return Object.freeze({ type: "BOOKMARK", resourceVersion: event.object?.metadata.resourceVersion ?? "" });
    case "ERROR":
      throw errorFromStatus(event.object ?? {});
    case undefined:
    default:
      throw new ApiError("Unknown", `${request} sent an event of unknown type: ${line.slice(0, 200)}`);
  }
}
