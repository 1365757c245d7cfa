/**
 * Requests for another protocol (WebSockets) take the way of all others: authentication, checks and errors are the same, and a route
 * that speaks the protocol takes the connection over at the end of it.
 */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance, FastifyReply } from "fastify";

export interface Upgrade {
  readonly socket: Socket;
  /** What came right behind the request. */
  readonly head: Buffer;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();

/** Other protocols are offers (such as h2c) that we need not take: their requests are answered as if there were none. */
export function isWebSocket({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return headers.upgrade?.toLowerCase() === "websocket";
}

/** Call it once, where the server is made. */
export function routeUpgrades(app: FastifyInstance): void {
  app.server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    upgrades.set(request, { socket, head });
    // Node has no listener for errors on this socket from here on. A broken socket is also closed, and "close" is handled.
    socket.on("error", () => {});
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    try {
      response.assignSocket(socket);
    } catch {
      // The answer to an earlier request on this socket is still being sent. No correct client upgrades before it has that answer.
      socket.destroy();
      return;
    }
    response.once("finish", () => socket.end());
    app.routing(request, response);
  });
}

export function isUpgrade(reply: FastifyReply): boolean {
  return upgrades.has(reply.request.raw);
}

/** From here on the connection is the caller's, and HTTP has nothing more to do with it than to count it at its end. */
export function takeConnection(reply: FastifyReply): Upgrade {
  const upgrade = upgrades.get(reply.request.raw);
  if (upgrade === undefined) throw new Error("this request is not for another protocol");
  reply.code(101).hijack();
  reply.raw.detachSocket(upgrade.socket);
  upgrade.socket.once("close", () => reply.raw.emit("close"));
  return upgrade;
}
