/** A server that answers as a test says, for clients of the native API, and remembers what it was asked. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type WebSocket, WebSocketServer } from "ws";

export interface AskedRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly body: unknown;
}

export interface ScriptedAnswer {
  readonly status?: number;
  /** A text goes out as it is, anything else as JSON. */
  readonly body?: unknown;
}

export interface ScriptedApi extends AsyncDisposable {
  readonly url: string;
  readonly asked: readonly AskedRequest[];
}

/** `onSocket` gets every WebSocket that is opened; without one there are none. */
export async function scriptedApi(
  answer: (request: AskedRequest) => ScriptedAnswer | Promise<ScriptedAnswer>,
  onSocket?: (socket: WebSocket) => void,
): Promise<ScriptedApi> {
  const asked: AskedRequest[] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const read = await readRequest(request);
    asked.push(read);
    const { status = 200, body } = await answer(read);
    response.statusCode = status;
    response.end(body === undefined || typeof body === "string" ? body : JSON.stringify(body));
  };
  const server = createServer((request, response) => void serve(request, response));
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request: IncomingMessage, wire, head) => {
    asked.push({ method: "GET", path: request.url ?? "", body: undefined });
    if (onSocket !== undefined) return sockets.handleUpgrade(request, wire, head, onSocket);
    const body = JSON.stringify(problem(409, "conflict", "no such container").body);
    wire.end(`HTTP/1.1 409 Conflict\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readRequest(request: IncomingMessage): Promise<AskedRequest> {
  const sent = await text(request);
  return { method: request.method ?? "", path: request.url ?? "", body: sent === "" ? undefined : (JSON.parse(sent) as unknown) };
}

/** Problem details, as the API writes them. */
export function problem(status: number, code: string, detail: string, more: object = {}): ScriptedAnswer {
  return { status, body: { type: `urn:agentbox:error:${code}`, status, code, detail, ...more } };
}
