/** Reads request bodies up to a limit; gzip is accepted. */
import type { IncomingMessage } from "node:http";
import { zlib } from "#envd/zlib.ts";
import { ConnectError } from "./connect-error.ts";
import { chunksOf } from "./request-chunks.ts";
import { compressedFlag, endFlag, FrameReader, type Frame } from "./frames.ts";

export const messageLimit = 32 * 1024 * 1024;

export async function readUnary(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunksOf(request)) {
    size += chunk.length;
    if (size > messageLimit) throw tooLarge();
    chunks.push(chunk);
  }
  return plain(Buffer.concat(chunks), request.headers["content-encoding"]);
}

/** The single message of a server-streaming call. */
export async function readSingle(request: IncomingMessage): Promise<Buffer> {
  let message: Buffer | undefined;
  for await (const next of readMessages(request)) {
    if (message !== undefined) throw new ConnectError("unimplemented", "this call takes one message, and there are more");
    message = next;
  }
  if (message === undefined) throw new ConnectError("unimplemented", "this call takes one message, and there is none");
  return message;
}

export async function* readMessages(request: IncomingMessage): AsyncGenerator<Buffer> {
  const reader = new FrameReader(messageLimit);
  const encoding = request.headers["connect-content-encoding"];
  for await (const chunk of chunksOf(request)) {
    for (const next of reader.push(chunk)) {
      if ((next.flags & endFlag) !== 0)
        throw new ConnectError("invalid_argument", "a client ends its stream with its request, not with a message");
      yield payloadOf(next, typeof encoding === "string" ? encoding : undefined);
    }
  }
  reader.end();
}

function payloadOf({ flags, payload }: Frame, encoding: string | undefined): Buffer {
  if ((flags & compressedFlag) === 0) return payload;
  if (encoding === undefined || encoding === "identity") {
    throw new ConnectError("internal", "a message is marked as compressed, and connect-content-encoding does not say how");
  }
  return plain(payload, encoding);
}

function plain(bytes: Buffer, encoding: string | undefined): Buffer {
  if (encoding === undefined || encoding === "identity" || bytes.length === 0) return bytes;
  if (encoding !== "gzip") throw new ConnectError("unimplemented", `the encoding ${encoding} is not known; gzip and identity are`);
  try {
    return zlib().gunzipSync(bytes, { maxOutputLength: messageLimit });
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge();
    throw new ConnectError("invalid_argument", `not gzip: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function tooLarge(): ConnectError {
  return new ConnectError("resource_exhausted", `a message has more than ${messageLimit} bytes, which is the most that is taken`);
}
