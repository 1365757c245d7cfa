/** One HTTP exchange with a registry or whomever it sends us to. */
import { type Dispatcher, request } from "undici";
import type { Clock } from "#lib/clock.ts";
import { ImageError } from "../image-error.ts";
import { connectionFailure, failureOf } from "./failure.ts";
import { notAllowed, type Outbound } from "./outbound.ts";
import { bodyStream, idleMs, type RequestBody } from "./request-body.ts";

export interface Exchange {
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "DELETE";
  readonly url: URL;
  /** The registry that this request is made for; `url` itself when left out. */
  readonly registry?: URL | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RequestBody | undefined;
  /** Sent to the URL's own origin only, and no more once a redirect has led away from it. */
  readonly authorization?: string | undefined;
  /** Redirects to another origin are refused. */
  readonly staysThere?: boolean;
  /** What this is about, for errors. */
  readonly what: string;
  readonly signal?: AbortSignal | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Must be read to its end or dropped. */
  readonly body: AsyncIterable<Buffer>;
  /** Gives up the rest: a short one is read away so that the connection can be used again, a long one cut. */
  readonly drop: () => void;
}

const maxRedirects = 5;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Those after which the same is sent again; the others would turn it into a question. */
const repeating: ReadonlySet<number> = new Set([307, 308]);
const maxErrorBytes = 16 * 1024;

export interface TransportDeps {
  readonly dispatcher: Dispatcher;
  readonly outbound: Outbound;
  readonly clock: Clock;
}

export class Transport {
  readonly #dispatcher: Dispatcher;
  readonly #outbound: Outbound;
  readonly #clock: Clock;

  constructor({ dispatcher, outbound, clock }: TransportDeps) {
    this.#dispatcher = dispatcher;
    this.#outbound = outbound;
    this.#clock = clock;
  }

  /** The answer after all redirects, whatever its status. */
  async send(exchange: Exchange): Promise<Answer> {
    let { url, authorization } = exchange;
    for (let hops = 0; ; hops++) {
      this.#outbound.check(exchange.what, exchange.registry ?? exchange.url, url);
      if (url.origin !== exchange.url.origin) authorization = undefined;
      const answer = await this.#once({ ...exchange, authorization }, url);
      const followed = exchange.method === "GET" || exchange.method === "HEAD" ? redirects : repeating;
      const location = followed.has(answer.status) ? headerOf(answer, "location") : undefined;
      if (location === undefined) return answer;
      answer.drop();
      if (hops === maxRedirects) throw new ImageError("registry_protocol", `${exchange.what}: more than ${maxRedirects} redirects`);
      url = followLocation(exchange.what, url, location);
      if (exchange.staysThere === true && url.origin !== exchange.url.origin) {
        throw notAllowed(exchange.what, `${exchange.url.origin} leads to ${url.origin}; a token server must answer itself`);
      }
    }
  }

  /** An ImageError for an answer that is not what was hoped for; reads what it says. */
  async refused(what: string, answer: Answer): Promise<ImageError> {
    const body = await readUpTo(answer, maxErrorBytes).catch(() => Buffer.alloc(0));
    return failureOf(what, { status: answer.status, headers: answer.headers, body: body.toString(), now: this.#clock.now() });
  }

  async #once({ method, headers, body, authorization, what, signal }: Exchange, url: URL): Promise<Answer> {
    const known = authorization === undefined ? {} : { authorization };
    const sent = { "user-agent": "agentbox", "accept-encoding": "identity", ...headers, ...known };
    using sending = body === undefined ? undefined : bodyStream(body, { what, clock: this.#clock, signal });
    try {
      const options = {
        method,
        headers: body === undefined ? sent : { ...sent, "content-length": String(body.bytes) },
        body: sending?.stream ?? null,
        dispatcher: this.#dispatcher,
        headersTimeout: idleMs,
        bodyTimeout: idleMs,
        signal: sending?.signal ?? signal ?? null,
      };
      const { statusCode, headers: received, body: answered } = await request(url, options);
      // Dropping an answer makes its body fail, and no reader is left to handle that error.
      answered.on("error", () => undefined);
      return {
        status: statusCode,
        headers: received,
        body: failing(answered, what, url, signal),
        drop: () => void answered.dump({ limit: maxErrorBytes }).catch(() => undefined),
      };
    } catch (error) {
      signal?.throwIfAborted();
      throw connectionFailure(what, url, error);
    }
  }
}

/** The body, with failures turned into ours. */
async function* failing(
  body: AsyncIterable<unknown>,
  what: string,
  url: URL,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer, void> {
  try {
    for await (const chunk of body) yield chunk as Buffer;
  } catch (error) {
    signal?.throwIfAborted();
    throw connectionFailure(what, url, error);
  }
}

/** A header that must not come twice; the first counts. */
export function headerOf(answer: Pick<Answer, "headers">, name: string): string | undefined {
  const value = answer.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** The whole body, or its first `limit` bytes. */
export async function readUpTo(answer: Answer, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer.body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= limit) break;
  }
  answer.drop();
  return Buffer.concat(chunks).subarray(0, limit);
}

/** Where a Location header leads. Never from https to http. */
export function followLocation(what: string, from: URL, location: string): URL {
  const to = URL.canParse(location, from.href) ? new URL(location, from.href) : undefined;
  if (to === undefined || (to.protocol !== "https:" && to.protocol !== "http:")) {
    const detail = `${from.origin} leads to ${JSON.stringify(location)}`;
    throw new ImageError("registry_protocol", `${what}: the registry redirects to something that is no http or https URL`, { detail });
  }
  if (from.protocol === "https:" && to.protocol === "http:") throw notAllowed(what, `${from.origin} leads from https to ${to.origin}`);
  return to;
}
