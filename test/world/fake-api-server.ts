/** An HTTP server on loopback that answers as its test says: for what a real API server does too seldom to wait for. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

interface SeenRequest {
  readonly method: string;
  /** With its query string. */
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export interface FakeApiServer extends AsyncDisposable {
  readonly url: string;
  /** In the order in which they arrived. */
  readonly requests: readonly SeenRequest[];
  /** Connections that are open now. */
  readonly openConnections: () => number;
  /** Connections that were ever made. */
  readonly connectionsMade: () => number;
}

/** `turn` counts requests from 0. */
export type Answer = (request: SeenRequest, response: ServerResponse, turn: number) => void;

export async function startFakeApiServer(answer: Answer, socketPath?: string): Promise<FakeApiServer> {
  const requests: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  let made = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const seen = { method, path: url, headers, body: Buffer.concat(chunks).toString("utf8") };
      requests.push(seen);
      answer(seen, response, requests.length - 1);
    });
  });
  server.on("connection", (socket) => {
    made++;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => {
    if (socketPath === undefined) server.listen(0, "127.0.0.1", resolve);
    else server.listen(socketPath, resolve);
  });
  return {
    url: socketPath === undefined ? `http://127.0.0.1:${(server.address() as AddressInfo).port}` : "",
    requests,
    openConnections: () => sockets.size,
    connectionsMade: () => made,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function answerJson(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

export function answerStatus(response: ServerResponse, code: number, reason: string, headers: Record<string, string> = {}): void {
  answerJson(response, code, { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message: `said ${reason}` }, headers);
}
