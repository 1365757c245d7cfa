/** What the WebSockets of all routes share: taking over, keep-alive, and closing. */
import type { FastifyReply } from "fastify";
import { type WebSocket, WebSocketServer } from "ws";
import type { Clock } from "#lib/clock.ts";
import { takeConnection } from "./upgrades.ts";

/** Interval of pings on a silent connection; it is closed when a ping is not answered before the next one. */
const pingMs = 30_000;
/** How long a client may take to answer a close of the server. */
const closeMs = 1000;
/** Bytes of one message. */
export const maxMessageBytes = 1024 * 1024;

const connections = new WebSocketServer({ noServer: true, maxPayload: maxMessageBytes, clientTracking: false });

export interface TakenSocket {
  readonly clock: Clock;
  /** Called once for any end of the connection, also for a refused handshake. */
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

/** Resolves when the message has been sent: a caller that waits for this keeps at most one message in memory. */
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
    // No pong can arrive while reading is paused, but writing to a dead connection fails.
    answered = connection.isPaused;
    connection.ping();
    timer = clock.after(pingMs, ask);
  };
  let timer = clock.after(pingMs, ask);
  connection.once("close", () => timer.cancel());
}
