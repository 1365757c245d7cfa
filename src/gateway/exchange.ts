/** One request on its way, over HTTP/1.1 or HTTP/2: Node gives both the same face, except for a few corners that are rounded here. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { type Answer, encode, isForPeople } from "./answers.ts";
import { headerMap } from "./headers.ts";

export type GatewayRequest = IncomingMessage | Http2ServerRequest;
export type GatewayResponse = ServerResponse | Http2ServerResponse;

export function isHttp2(request: GatewayRequest): request is Http2ServerRequest {
  return "stream" in request && request.httpVersionMajor === 2;
}

/** As the client named us. Empty when it did not. */
export function hostOf(request: GatewayRequest): string {
  return (isHttp2(request) ? request.authority : request.headers.host) || request.headers.host || "";
}

export function oneHeader(request: GatewayRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === "string" ? value : value?.[0];
}

/** Whether something follows the head. */
export function hasBody(request: GatewayRequest): boolean {
  if (isHttp2(request)) return !request.stream.endAfterHeaders;
  return request.headers["transfer-encoding"] !== undefined || (request.headers["content-length"] ?? "0") !== "0";
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
  const { type, text } = encode(answer, isForPeople(request.method ?? "", oneHeader(request, "accept")));
  const headers = {
    "content-type": type,
    "content-length": String(Buffer.byteLength(text)),
    "cache-control": "no-store",
    ...answer.headers,
    ...more,
  };
  // What could not be said of another answer would be said with this one, and refused again.
  for (const name of response.getHeaderNames()) response.removeHeader(name);
  writeHead(response, answer.status, Object.entries(headers).flat());
  response.end(request.method === "HEAD" ? "" : text);
  // Discard the rest of the body: unread it would hold up the connection, and over HTTP/2 fill the memory that all its requests share.
  request.unpipe();
  request.resume();
}

/** Ends an answer in the middle, so that its client sees that it is not whole. */
export function cutShort(response: GatewayResponse): void {
  // A stream of HTTP/2 that is only dropped looks like one that has ended well.
  if (isHttp2Response(response)) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else response.destroy();
}

/** The two kinds of response have the same method with types that do not meet. */
export function writeHead(response: GatewayResponse, status: number, raw: string[]): void {
  if (isHttp2Response(response)) response.writeHead(status, headerMap(raw));
  else response.writeHead(status, raw);
}

function isHttp2Response(response: GatewayResponse): response is Http2ServerResponse {
  return "stream" in response;
}
