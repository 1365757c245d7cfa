/** The address of a server, and its orderly end. */
import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";

export interface ListenAt {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

/** Resolves with the address, as a URL without a slash at its end. Rejects with the machine's error when it cannot be had. */
export async function listenAt(app: FastifyInstance, { host, port }: ListenAt): Promise<string> {
  await app.listen({ host, port });
  const address = app.server.address() as AddressInfo;
  const name = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `http://${name}:${address.port}`;
}

/** Takes no new connections, ends streams, lets answers under way end, and cuts what has not ended after `graceMs`. */
export async function drainServer(app: FastifyInstance, graceMs: number): Promise<void> {
  // Connections turn idle one by one as their answers end.
  const sweep = setInterval(() => app.server.closeIdleConnections(), 10);
  const cut = setTimeout(() => app.server.closeAllConnections(), graceMs);
  try {
    await app.close();
  } finally {
    clearInterval(sweep);
    clearTimeout(cut);
  }
}
