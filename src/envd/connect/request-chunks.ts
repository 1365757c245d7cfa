import type { IncomingMessage } from "node:http";

/** A body as it comes. Who stops in the middle leaves the connection alone: the answer is still to be sent on it. */
export function chunksOf(request: IncomingMessage): AsyncIterable<Buffer> {
  return request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
}
