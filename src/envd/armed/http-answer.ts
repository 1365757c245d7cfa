import type { ServerResponse } from "node:http";

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, { "content-type": "application/json", "content-length": body.length }).end(body);
}

export function sendError(response: ServerResponse, status: number, message: string): void {
  sendJson(response, status, { code: status, message });
}
