/**
 * Requests for another protocol (WebSockets) pass through the same authentication, checks and errors as all others. At the end, a route that speaks the
 * protocol takes over the connection.
 */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance, FastifyReply } from "fastify";

export interface Upgrade {
  readonly socket: Socket;
  /** Bytes that the client sent directly after the request. */
  readonly head: Buffer;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();

/** We may decline an offer of another protocol (such as h2c): the request is then answered as plain HTTP. */
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

/** From here on the connection belongs to the route; HTTP only counts its end. */
export function takeConnection(reply: FastifyReply): Upgrade {
  const upgrade = upgrades.get(reply.request.raw);
  if (upgrade === undefined) throw new Error("this request is not for another protocol");
  reply.code(101).hijack();
  reply.raw.detachSocket(upgrade.socket);
  upgrade.socket.once("close", () => reply.raw.emit("close"));
  return upgrade;
}
