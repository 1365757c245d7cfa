/** One request over HTTP/1.1 or HTTP/2. Node gives both the same interface except for a few differences, which are handled here. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { type Answer, encode, isForPeople, type Reader } from "./answers.ts";
import { headerMap } from "./headers.ts";

export type GatewayRequest = IncomingMessage | Http2ServerRequest;
export type GatewayResponse = ServerResponse | Http2ServerResponse;

export function isHttp2(request: GatewayRequest): request is Http2ServerRequest {
  return "stream" in request && request.httpVersionMajor === 2;
}

/** The host name that the client used; empty without one. */
export function hostOf(request: GatewayRequest): string {
  return (isHttp2(request) ? request.authority : request.headers.host) || request.headers.host || "";
}

export function oneHeader(request: GatewayRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === "string" ? value : value?.[0];
}

/** True if a body follows. */
export function hasBody(request: GatewayRequest): boolean {
  if (isHttp2(request)) return !request.stream.endAfterHeaders;
  return request.headers["transfer-encoding"] !== undefined || (request.headers["content-length"] ?? "0") !== "0";
}

function readerOf(request: GatewayRequest): Reader {
  return {
    method: request.method ?? "",
    accept: oneHeader(request, "accept"),
    userAgent: oneHeader(request, "user-agent"),
    destination: oneHeader(request, "sec-fetch-dest"),
  };
}

export function sendAnswer(
  request: GatewayRequest,
  response: GatewayResponse,
  answer: Answer,
  more: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const { type, text } = encode(answer, isForPeople(readerOf(request)));
  const headers = {
    "content-type": type,
    "content-length": String(Buffer.byteLength(text)),
    "cache-control": "no-store",
    ...answer.headers,
    ...more,
  };
  // A second error answer could fail for the same reason, so only the connection is closed.
  for (const name of response.getHeaderNames()) response.removeHeader(name);
  writeHead(response, answer.status, Object.entries(headers).flat());
  response.end(request.method === "HEAD" ? "" : text);
  // Discard the rest of the body: left unread it would block the connection, and over HTTP/2 use the memory shared by all its requests.
  request.unpipe();
  request.resume();
}

/** Breaks off an answer so that its client notices that it is incomplete. */
export function cutShort(response: GatewayResponse): void {
  // A stream of HTTP/2 that is only closed looks like a complete answer.
  if (isHttp2Response(response)) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else response.destroy();
}

/** Both kinds of response have this method, with different types. */
export function writeHead(response: GatewayResponse, status: number, raw: string[]): void {
  if (isHttp2Response(response)) response.writeHead(status, headerMap(raw));
  else response.writeHead(status, raw);
}

function isHttp2Response(response: GatewayResponse): response is Http2ServerResponse {
  return "stream" in response;
}
