import type { IncomingMessage } from "node:http";

/** A body as it comes. A reader that stops in the middle does not close the connection: the answer must still be sent on it. */
export function chunksOf(request: IncomingMessage): AsyncIterable<Buffer> {
  return request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
}
