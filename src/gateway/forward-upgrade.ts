/** Forwards a connection that changes its protocol, such as a WebSocket: after the answer, bytes in both directions. */
import { type IncomingMessage, request as httpRequest, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type Answer, encode } from "./answers.ts";
import { responseHeaders } from "./headers.ts";
import { connectUpstream, failureOf, isSandbox, type Upstream } from "./upstream.ts";

export interface UpgradeForwarding {
  readonly upstream: Upstream;
  readonly url: string;
  /** Raw headers, without those of the connection. */
  readonly headers: string[];
}

export interface Upgrading {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that the client sent directly after the header. */
  readonly head: Buffer;
}

/** Resolves when both sides have closed. */
export async function forwardUpgrade({ request, socket, head }: Upgrading, forwarding: UpgradeForwarding): Promise<void> {
  const { upstream, url, headers } = forwarding;
  let connection;
  try {
    connection = await connectUpstream(upstream, { halfOpen: true });
  } catch (error) {
    endWith(socket, failureOf(upstream, error));
    return;
  }
  if (socket.destroyed) {
    connection.destroy();
    return;
  }
  const outgoing = httpRequest({
    createConnection: () => connection,
    method: request.method ?? "GET",
    path: url,
    headers: [...headers, "Connection", "Upgrade", "Upgrade", request.headers.upgrade ?? ""],
    setHost: false,
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  outgoing.on("upgrade", (answer, sandbox, first) => {
    socket.write(headText(answer, upstream, ["Connection", "Upgrade", "Upgrade", answer.headers.upgrade ?? request.headers.upgrade ?? ""]));
    if (first.length > 0) socket.write(first);
    if (head.length > 0) sandbox.write(head);
    join(socket, sandbox, resolve);
  });
  outgoing.on("response", (answer) => {
    // The program declined the upgrade: forward its answer, the last one on this connection.
    socket.write(headText(answer, upstream, ["Connection", "close"]));
    answer.pipe(socket);
    answer.on("close", () => {
      // The answer was cut short: close the connection, so that the client does not wait for the rest.
      if (!answer.complete) socket.destroy();
      resolve();
    });
  });
  outgoing.on("error", (error) => {
    endWith(socket, failureOf(upstream, error));
    resolve();
  });
  socket.once("close", () => outgoing.destroy());
  socket.once("error", () => outgoing.destroy());
  outgoing.end();
  await promise;
}

/** Answers a request that was refused before it reached a sandbox. */
export function endWith(socket: Duplex, answer: Answer): void {
  if (socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const { type, text } = encode(answer, false);
  const headers = {
    "content-type": type,
    "content-length": String(Buffer.byteLength(text)),
    ...answer.headers,
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ""}\r\n${lines.join("")}\r\n${text}`);
}

function headText(answer: IncomingMessage, upstream: Upstream, about: readonly string[]): string {
  const headers = [...responseHeaders(answer.rawHeaders, { isOfSandbox: isSandbox(upstream) }), ...about];
  const lines = [`HTTP/1.1 ${answer.statusCode ?? 502} ${answer.statusMessage ?? ""}`];
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at] ?? ""}: ${headers[at + 1] ?? ""}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** Each direction ends by itself; a failure of either side ends both. */
function join(client: Duplex, sandbox: Duplex, done: () => void): void {
  let open = 2;
  const close = (): void => {
    if (--open === 0) done();
  };
  for (const [from, to] of [
    [client, sandbox],
    [sandbox, client],
  ] as const) {
    from.pipe(to);
    from.on("error", () => to.destroy());
    from.on("close", () => {
      // Closed without an end: no more data can come.
      if (!from.readableEnded) to.destroy();
      close();
    });
  }
}
