/** One request to the native API: the key, the errors, the ends. */
import { ClientError, errorFromAnswer } from "./client-error.ts";

export interface ClientOptions {
  /** Such as http://127.0.0.1:8099. */
  readonly url: string;
  readonly apiKey: string;
  /** The process's own when left out. */
  readonly fetch?: typeof fetch;
}

export interface ClientRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** From /v1 on, its parts already escaped. */
  readonly path: string;
  /** What is undefined is left out; of a list each is sent. */
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

export class HttpCaller {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = { ...options, url: options.url.replace(/\/+$/, "") };
  }

  /** The body of a good answer; undefined when it has none. Throws ClientError. */
  async json<Result>(request: ClientRequest): Promise<Result> {
    const text = await (await this.answer(request)).text();
    return (text === "" ? undefined : JSON.parse(text)) as Result;
  }

  /** A good answer whose body is still to be read. Throws ClientError. */
  async answer(request: ClientRequest): Promise<Response> {
    const response = await this.#send(request);
    if (response.ok) return response;
    const text = await response.text().catch(() => "");
    throw errorFromAnswer(response.status, text, response.headers.get("x-request-id") ?? undefined);
  }

  /** To a path that needs no key; it may still be connecting. */
  webSocket(path: string): WebSocket {
    return new WebSocket(`${this.#options.url.replace(/^http/, "ws")}${path}`);
  }

  async #send({ method, path, query = {}, body, headers = {}, signal }: ClientRequest): Promise<Response> {
    const { url, apiKey, fetch: send = fetch } = this.#options;
    const sent = body === undefined ? {} : { "content-type": "application/json" };
    try {
      return await send(`${url}${path}${queryText(query)}`, {
        method,
        headers: { "agentbox-api-key": apiKey, ...sent, ...headers },
        body: body === undefined ? null : JSON.stringify(body),
        signal: signal ?? null,
        // A key must not follow to wherever an answer points.
        redirect: "error",
      });
    } catch (error) {
      throw signal?.aborted === true ? error : unreachable(url, error);
    }
  }
}

function unreachable(url: string, error: unknown): ClientError {
  const { cause } = error as { readonly cause?: { readonly code?: string; readonly message?: string } };
  return new ClientError("unreachable", `nobody answers at ${url}: ${cause?.code ?? cause?.message ?? String(error)}`, { cause: error });
}

function queryText(query: NonNullable<ClientRequest["query"]>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    const values = value === undefined ? [] : Array.isArray(value) ? (value as readonly string[]) : [String(value)];
    return values.map((one): [string, string] => [name, one]);
  });
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs).toString()}`;
}
