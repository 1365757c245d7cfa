/** Starts and stops listening: the address of a server and its orderly shutdown. */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";

export interface ListenAt {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

/** Resolves with the address, as a URL without a trailing slash. Rejects with the system's error if the address is not available. */
export async function listenAt(app: FastifyInstance, { host, port }: ListenAt): Promise<string> {
  await app.listen({ host, port });
  const address = app.server.address() as AddressInfo;
  const name = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `http://${name}:${address.port}`;
}

/** Servers that close each connection after its current answer. */
const leaving = new WeakSet<Server>();
/** How long a connection stays open after an answer that was still being sent: the client may be about to reuse it. */
const lastKeepMs = 1000;

/** Call it once, where the server is made. */
export function mayHandOver(app: FastifyInstance): void {
  app.addHook("onSend", (_request, reply, payload, done) => {
    // Node then announces it in the response header.
    if (leaving.has(app.server)) reply.raw.shouldKeepAlive = false;
    done(null, payload);
  });
}

/** From now on every answer closes its connection, so that clients reconnect elsewhere. No request is refused. */
export function handOver(app: FastifyInstance): void {
  leaving.add(app.server);
  app.server.keepAliveTimeout = lastKeepMs;
}

/** Takes no new connections, ends streams, lets open requests finish, and closes what is left after `graceMs`. */
export async function drainServer(app: FastifyInstance, graceMs: number): Promise<void> {
  handOver(app);
  // Connections become idle one by one as their answers end.
  const sweep = setInterval(() => app.server.closeIdleConnections(), 10);
  const cut = setTimeout(() => app.server.closeAllConnections(), graceMs);
  try {
    await app.close();
  } finally {
    clearInterval(sweep);
    clearTimeout(cut);
  }
}
