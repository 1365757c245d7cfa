/** What the WebSockets of all routes have in common: how they are taken over, kept alive, and closed. */
import type { FastifyReply } from "fastify";
import { type WebSocket, WebSocketServer } from "ws";
import type { Clock } from "#lib/clock.ts";
import { takeConnection } from "./upgrades.ts";

/** A silent connection is asked so often whether it is still there, and given up when it has not answered by the next time. */
const pingMs = 30_000;
/** How long a client may take to close when the server wants to. */
const closeMs = 1000;
/** Bytes of one message. */
export const maxMessageBytes = 1024 * 1024;

const connections = new WebSocketServer({ noServer: true, maxPayload: maxMessageBytes, clientTracking: false });

export interface TakenSocket {
  readonly clock: Clock;
  /** Called once, whatever ended the connection, also a handshake that is refused. */
  readonly onEnd: () => void;
  readonly onOpen: (connection: WebSocket) => void;
}

/** From here on an error cannot be answered any more. */
export function takeWebSocket(reply: FastifyReply, { clock, onEnd, onOpen }: TakenSocket): void {
  const { socket, head } = takeConnection(reply);
  socket.once("close", onEnd);
  connections.handleUpgrade(reply.request.raw, socket, head, (connection) => {
    connection.on("error", () => {});
    stayAlive(connection, clock);
    onOpen(connection);
  });
}

export function closeWebSocket(connection: WebSocket, clock: Clock, code: number, reason: string): void {
  connection.resume();
  connection.close(code, reason);
  const timer = clock.after(closeMs, () => connection.terminate());
  connection.once("close", () => timer.cancel());
}

/** Resolves when it is on its way: a caller that waits for that keeps at most one piece in memory. */
export function sendBytes(connection: WebSocket, bytes: Buffer): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    connection.send(bytes, { binary: true }, (error) => (error ? reject(error) : resolve()));
  });
}

export function sendMessage(connection: WebSocket, message: object): void {
  if (connection.readyState === connection.OPEN) connection.send(JSON.stringify(message));
}

function stayAlive(connection: WebSocket, clock: Clock): void {
  let answered = true;
  connection.on("pong", () => {
    answered = true;
  });
  const ask = (): void => {
    if (!answered) return connection.terminate();
    // While nothing is read of it no answer can come, but writing to one that is gone fails.
    answered = connection.isPaused;
    connection.ping();
    timer = clock.after(pingMs, ask);
  };
  let timer = clock.after(pingMs, ask);
  connection.once("close", () => timer.cancel());
}
