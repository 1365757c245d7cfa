/** The listeners of a gateway: plain HTTP, and TLS with HTTP/1.1 and HTTP/2. */
import { createServer, type IncomingMessage, type Server, type ServerOptions } from "node:http";
import { createSecureServer, type Http2SecureServer } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { badRequest } from "./answers.ts";
import { type GatewayRequest, type GatewayResponse, hasBody } from "./exchange.ts";
import { endWith } from "./forward-upgrade.ts";
import type { Gateway } from "./gateway.ts";

export interface Listening {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** PEM. If present, the listener uses TLS. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

export interface GatewayServer {
  readonly port: number;
  /** Uses a new certificate for new connections. */
  renew(tls: { readonly key: string; readonly cert: string }): void;
  /** From now on every answer closes its connection, so that clients reconnect elsewhere. No request is refused. */
  handOver(): void;
  /** Takes no new connections; open requests may finish within the time. Resolves with the number of connections that were cut. */
  close(graceMs: number): Promise<number>;
}

/** A stream may be silent for ten minutes and more; the header must come soon. */
const options = {
  headersTimeout: 30_000,
  requestTimeout: 0,
  keepAliveTimeout: 640_000,
  maxHeaderSize: 64 * 1024,
  noDelay: true,
} satisfies ServerOptions;

export async function listen(gateway: Gateway, { host, port, tls }: Listening): Promise<GatewayServer> {
  const server = tls === undefined ? createServer(options) : createSecureServer({ ...options, ...tls, allowHTTP1: true });
  // A request with a body does not wait for an upgrade (Java's HTTP clients send such requests): it is an ordinary request. Node has an option for this,
  // but not for TLS servers.
  // an option too, but not for the encrypted server.
  Object.assign(server, { shouldUpgradeCallback: (request: IncomingMessage) => !hasBody(request) });
  const answers = new OpenAnswers(server);
  const serve = (request: GatewayRequest, response: GatewayResponse): void => {
    answers.begin(response);
    void gateway.serve(request, response).then(() => answers.end(response));
  };
  server.on("request", serve);
  // The sandbox decides whether the client continues.
  server.on("checkContinue", serve);
  server.on("upgrade", (request, socket: Duplex, head: Buffer) => void gateway.upgrade(request, socket, head));
  // CONNECT would tunnel to arbitrary hosts, so it is refused.
  server.on("connect", (_request: unknown, socket: Duplex) => socket.destroy());
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => refuse(error, socket));
  const sockets = openSockets(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    renew: (fresh) => {
      if ("setSecureContext" in server) server.setSecureContext(fresh);
    },
    handOver: () => answers.handOver(),
    close: (graceMs) => {
      answers.handOver();
      return close(server, sockets, graceMs);
    },
  };
}

/** How long a connection stays open after its stream ended during shutdown: the client learns nothing else and may be about to reuse it. */
const lastKeepMs = 1000;

/** Answers whose header is not sent yet, so that it can still announce the end of the connection. */
class OpenAnswers {
  readonly #server: Server | Http2SecureServer;
  readonly #open = new Set<GatewayResponse>();
  #isLast = false;

  constructor(server: Server | Http2SecureServer) {
    this.#server = server;
  }

  begin(response: GatewayResponse): void {
    if (this.#isLast) endsConnection(response);
    else this.#open.add(response);
  }

  end(response: GatewayResponse): void {
    this.#open.delete(response);
  }

  handOver(): void {
    this.#isLast = true;
    for (const response of this.#open) endsConnection(response);
    Object.assign(this.#server, { keepAliveTimeout: lastKeepMs });
  }
}

/** Node then says so in the header. HTTP/2 has a frame for it, which its server sends on close. */
function endsConnection(response: GatewayResponse): void {
  if ("shouldKeepAlive" in response && !response.headersSent) response.shouldKeepAlive = false;
}

/** Input that is not HTTP, too long, or ambiguous: answered with an error, and the connection is closed. */
function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const isTooLong = error.code === "HPE_HEADER_OVERFLOW";
  const answer = isTooLong
    ? { status: 431, body: { message: `the headers exceed ${options.maxHeaderSize} bytes`, code: 431 } }
    : badRequest("the request is not valid, unambiguous HTTP");
  endWith(socket, answer);
}

function openSockets(server: Server | Http2SecureServer): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}

async function close(server: Server | Http2SecureServer, sockets: ReadonlySet<Socket>, graceMs: number): Promise<number> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  if ("closeIdleConnections" in server) server.closeIdleConnections();
  let cut = 0;
  const late = setTimeout(() => {
    cut = sockets.size;
    for (const socket of sockets) socket.destroy();
  }, graceMs);
  await closed;
  clearTimeout(late);
  return cut;
}
