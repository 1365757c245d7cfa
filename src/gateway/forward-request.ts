/**
 * Carries one request to its sandbox and the answer back, piece by piece: nothing is collected, and who reads slowly slows the
 * other side. Ends when both are done, or when either goes away, and then takes the other with it.
 */
import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { cutShort, type GatewayRequest, type GatewayResponse, hasBody, isHttp2, sendAnswer, writeHead } from "./exchange.ts";
import { rawHeader, responseHeaders } from "./headers.ts";
import { failureOf, type Upstream, type UpstreamAgent, type UpstreamRequest } from "./upstream.ts";

export interface Forwarding {
  readonly agent: UpstreamAgent;
  readonly upstream: Upstream;
  /** Path and query for the sandbox. */
  readonly url: string;
  /** Raw, as `requestHeaders` made them. */
  readonly headers: string[];
  /** Added to the answer, unless the sandbox says something about it itself. */
  readonly added: Readonly<Record<string, string>>;
}

/** Resolves with the status that the client got, or 0 when it went away before there was one. */
export function forwardRequest(request: GatewayRequest, response: GatewayResponse, forwarding: Forwarding): Promise<number> {
  return new Promise((resolve) => {
    const outgoing = send(request, forwarding);
    let answered: IncomingMessage | undefined;
    outgoing.on("continue", () => {
      if (!response.headersSent) response.writeContinue();
    });
    outgoing.on("response", (incoming) => {
      answered = incoming;
      answer(response, incoming, forwarding.added);
    });
    // The answer to a request without Upgrade that upgrades all the same is nothing that a client could understand.
    outgoing.on("upgrade", (_, socket) => socket.destroy());
    outgoing.on("error", (error) => {
      if (answered === undefined) sendAnswer(request, response, failureOf(forwarding.upstream, error), forwarding.added);
      else cutShort(response);
    });
    response.on("close", () => {
      // Also when all is done: a connection whose answer was read to its end is kept, any other cannot be used again.
      if (!response.writableFinished || answered?.complete !== true) outgoing.destroy();
      request.unpipe(outgoing);
      resolve(response.headersSent ? response.statusCode : 0);
    });
  });
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
    headers: isChunked ? [...headers, "Transfer-Encoding", "chunked"] : headers,
    setHost: false,
  };
  const outgoing = httpRequest(options);
  if (!hasBody(request)) {
    outgoing.end();
    request.resume();
    return outgoing;
  }
  // Whoever expects to be told to go on waits for the sandbox to have seen the head.
  outgoing.flushHeaders();
  request.pipe(outgoing, { end: false });
  request.on("end", () => {
    if (!isHttp2(request) && isChunked && request.rawTrailers.length > 0) outgoing.addTrailers(pairs(request.rawTrailers));
    outgoing.end();
  });
  request.on("aborted", () => outgoing.destroy());
  return outgoing;
}

function answer(response: GatewayResponse, incoming: IncomingMessage, added: Readonly<Record<string, string>>): void {
  const headers = responseHeaders(incoming.rawHeaders);
  for (const [name, value] of Object.entries(added)) if (rawHeader(headers, name) === undefined) headers.push(name, value);
  writeHead(response, incoming.statusCode ?? 502, headers);
  incoming.pipe(response, { end: false });
  incoming.on("end", () => {
    if (incoming.rawTrailers.length > 0) response.addTrailers(Object.fromEntries(pairs(incoming.rawTrailers)));
    response.end();
  });
  // Cut short: the client must see that, and not a shorter answer.
  incoming.on("aborted", () => cutShort(response));
  incoming.on("error", () => cutShort(response));
}

function pairs(raw: readonly string[]): [string, string][] {
  return Array.from({ length: raw.length / 2 }, (_, at) => [raw[2 * at] ?? "", raw[2 * at + 1] ?? ""]);
}
