import type { IncomingMessage } from "node:http";

/** A body as a stream. Stopping early does not close the connection, because the answer is still to be sent on it. */
export function chunksOf(request: IncomingMessage): AsyncIterable<Buffer> {
  return request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
}
