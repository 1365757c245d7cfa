/** One request to the native API: adds the key, turns failures into errors, honours abort signals. */
import type { WebSocket as StreamSocket } from "ws";
import { ClientError, errorFromAnswer } from "./client-error.ts";
import { networkFailure } from "./network-failure.ts";
import type { ClientRequest, Transport } from "./transport.ts";

export type { ClientRequest };

export interface ClientOptions {
  /** Such as http://127.0.0.1:8099. */
  readonly url: string;
  /** Left out in the web console, whose browser sends the session cookie. */
  readonly apiKey?: string;
  /** Sent with every request; read each time. */
  readonly headers?: () => Readonly<Record<string, string>>;
  /** The process's own when left out. */
  readonly fetch?: typeof fetch;
}

export class HttpCaller implements Transport {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = { ...options, url: options.url.replace(/\/+$/, "") };
  }

  /** The body of a successful answer; undefined if it has none. Throws ClientError. */
  async json<Result>(request: ClientRequest): Promise<Result> {
    const text = await (await this.answer(request)).text();
    return (text === "" ? undefined : JSON.parse(text)) as Result;
  }

  /** A successful answer whose body is not read yet. Throws ClientError. */
  async answer(request: ClientRequest): Promise<Response> {
    const response = await this.send(request);
    if (response.ok) return response;
    const text = await response.text().catch(() => "");
    throw errorFromAnswer(response.status, text, response.headers.get("x-request-id") ?? undefined);
  }

  /** An open socket, for servers that wait to be spoken to. Throws ClientError. Not in browsers, which send no headers with a socket. */
  async stream(path: string, signal?: AbortSignal): Promise<StreamSocket> {
    const { openNodeSocket } = await import("./node-socket.ts");
    signal?.throwIfAborted();
    return await openNodeSocket({ url: this.#options.url, path, headers: this.#credentials() }, signal);
  }

  /** To a path that needs no key; it may still be connecting. */
  webSocket(path: string): WebSocket {
    return new WebSocket(`${this.#options.url.replace(/^http/, "ws")}${path}`);
  }

  /** Any answer, successful or not. Throws ClientError if there is none. */
  async send({ method, path, query = {}, body, bytes, headers = {}, signal }: ClientRequest): Promise<Response> {
    const { url, fetch: send = globalThis.fetch } = this.#options;
    const sent = contentType(body, bytes);
    try {
      return await send(`${url}${path}${queryText(query)}`, {
        method,
        headers: { ...this.#credentials(), ...sent, ...headers },
        body: body === undefined ? (bytes ?? null) : JSON.stringify(body),
        signal: signal ?? null,
        // A key must not be sent to the target of a redirect.
        redirect: "error",
      });
    } catch (error) {
      throw signal?.aborted === true ? error : unreachable(url, error);
    }
  }

  /** The header says that the page is the console: browsers let no foreign page send it. */
  #credentials(): Readonly<Record<string, string>> {
    const { apiKey, headers } = this.#options;
    return { ...headers?.(), ...(apiKey === undefined ? { "x-agentbox-console": "1" } : { "agentbox-api-key": apiKey }) };
  }
}

function contentType(body: unknown, bytes: ClientRequest["bytes"]): Readonly<Record<string, string>> {
  if (body !== undefined) return { "content-type": "application/json" };
  return bytes === undefined ? {} : { "content-type": "application/octet-stream" };
}

export function unreachable(url: string, error: unknown): ClientError {
  return new ClientError("unreachable", `the server at ${url} cannot be reached: ${networkFailure(error)}`, { cause: error });
}

function queryText(query: NonNullable<ClientRequest["query"]>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    const values = value === undefined ? [] : Array.isArray(value) ? (value as readonly string[]) : [String(value)];
    return values.map((one): [string, string] => [name, one]);
  });
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs).toString()}`;
}
