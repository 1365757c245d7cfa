/**
 * Forwards one request to its sandbox and the answer back, as a stream: nothing is buffered, and a slow reader slows down the other side. Ends when both
 * sides are done; if either side disconnects, the other is closed.
 */
import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import type { Writable } from "node:stream";
import { cutShort, type GatewayRequest, type GatewayResponse, hasBody, isHttp2, sendAnswer, writeHead } from "./exchange.ts";
import { rawHeader, responseHeaders } from "./headers.ts";
import { failureOf, isSandbox, type Upstream, type UpstreamAgent, type UpstreamRequest } from "./upstream.ts";

export interface Forwarding {
  readonly agent: UpstreamAgent;
  readonly upstream: Upstream;
  /** Path and query for the sandbox. */
  readonly url: string;
  /** Raw headers from `requestHeaders`. */
  readonly headers: string[];
  /** Added to the answer, unless the sandbox sets them itself. */
  readonly added: Readonly<Record<string, string>>;
}

/** Resolves with the status that the client got, or 0 if it disconnected before. */
export function forwardRequest(request: GatewayRequest, response: GatewayResponse, forwarding: Forwarding): Promise<number> {
  return new Promise((resolve) => {
    const outgoing = send(request, forwarding);
    let answered: IncomingMessage | undefined;
    outgoing.on("continue", () => {
      if (!response.headersSent) response.writeContinue();
    });
    outgoing.on("response", (incoming) => {
      answered = incoming;
      try {
        answer(request, response, incoming, forwarding);
      } catch {
        // Part of the answer is invalid, for example its status.
        answered = undefined;
        outgoing.destroy(new Error("the answer is not HTTP"));
      }
    });
    // An upgrade without a request for it: no client could understand the answer.
    outgoing.on("upgrade", (_, socket) => socket.destroy());
    outgoing.on("error", (error) => {
      if (answered === undefined)
        sendAnswer(request, response, failureOf(forwarding.upstream, error, isRepeatable(request)), forwarding.added);
      else cutShort(response);
    });
    response.on("close", () => {
      // Also at the normal end: a connection whose answer was read to the end is kept, any other cannot be reused.
      if (!response.writableFinished || answered?.complete !== true) outgoing.destroy();
      request.unpipe(outgoing);
      resolve(response.headersSent ? response.statusCode : 0);
    });
  });
}

/** Sent twice, it does no more than once. */
function isRepeatable({ method, headers }: GatewayRequest): boolean {
  return method !== "POST" || headers["idempotency-key"] !== undefined;
}

function send(request: GatewayRequest, { agent, upstream, url, headers }: Forwarding): ClientRequest {
  const isChunked = hasBody(request) && rawHeader(headers, "content-length") === undefined;
  const options: UpstreamRequest = {
    agent,
    upstream,
    host: upstream.ip,
    port: upstream.port,
    method: request.method ?? "GET",
    path: url,
    headers: isChunked ? [...headers, "Transfer-Encoding", "chunked"] : withoutTrailers(headers),
    setHost: false,
  };
  const outgoing = httpRequest(options);
  if (!hasBody(request)) {
    outgoing.end();
    request.resume();
    return outgoing;
  }
  // A client that expects "100 Continue" gets it after the sandbox has seen the header.
  outgoing.flushHeaders();
  request.pipe(outgoing, { end: false });
  request.on("end", () => {
    if (!isHttp2(request) && isChunked && request.rawTrailers.length > 0) outgoing.addTrailers(pairs(request.rawTrailers));
    outgoing.end();
  });
  request.on("aborted", () => outgoing.destroy());
  return outgoing;
}

/** Throws Node's error for an answer that cannot be forwarded. */
function answer(...[request, response, incoming, { upstream, added }]: Answering): void {
  const status = incoming.statusCode ?? 502;
  const all = responseHeaders(incoming.rawHeaders, { isOfSandbox: isSandbox(upstream) });
  const headers = isOpenEnded(request, status, all) ? all : withoutTrailers(all);
  for (const [name, value] of Object.entries(added)) if (rawHeader(headers, name) === undefined) headers.push(name, value);
  writeHead(response, status, headers);
  // Like pipe, but cheaper: adding and removing its listeners costs a twentieth of a small answer.
  // Both kinds of response work; their TypeScript types for this method differ.
  const out: Writable = response;
  incoming.on("data", (chunk: Buffer) => {
    if (!out.write(chunk)) incoming.pause();
  });
  response.on("drain", () => incoming.resume());
  incoming.on("end", () => {
    endWithTrailers(response, incoming.rawTrailers);
  });
  // The answer was cut short: the client must not take it for a complete one.
  incoming.on("aborted", () => cutShort(response));
  incoming.on("error", () => cutShort(response));
}

type Answering = [GatewayRequest, GatewayResponse, IncomingMessage, Pick<Forwarding, "upstream" | "added">];

/** True if the end of the answer is marked, so that trailers can follow. */
function isOpenEnded({ method, httpVersion }: GatewayRequest, status: number, headers: readonly string[]): boolean {
  return (
    httpVersion !== "1.0" && method !== "HEAD" && status !== 204 && status !== 304 && rawHeader(headers, "content-length") === undefined
  );
}

/** Some clients reject an answer that announces trailers where none can come. */
function withoutTrailers(headers: readonly string[]): string[] {
  return headers.filter((_, at) => headers[at - (at % 2)]?.toLowerCase() !== "trailer");
}

function endWithTrailers(response: GatewayResponse, raw: readonly string[]): void {
  try {
    if (raw.length > 0) response.addTrailers(Object.fromEntries(pairs(raw)));
  } catch {
    // HTTP/2 allows no such name: the answer is complete without it.
  }
  response.end();
}

function pairs(raw: readonly string[]): [string, string][] {
  return Array.from({ length: raw.length / 2 }, (_, at) => [raw[2 * at] ?? "", raw[2 * at + 1] ?? ""]);
}
