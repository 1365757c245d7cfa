/** One request and its answer: credentials, deadline, back-off, and every failure as an ApiError. */
import type { Dispatcher } from "undici";
import type { WebSocket } from "ws";
import { ApiError, isApiError } from "#kube/api-error.ts";
import { abortable, ChildAbort } from "#lib/abortable.ts";
import type { Connection } from "./connection.ts";
import { ConnectionPools, type PoolOptions, type PoolUse } from "./connection-pools.ts";
import { CredentialCache, type Credentials } from "./credentials.ts";
import { withRetries, type RetryTools } from "./retry.ts";
import { errorFromAnswer, errorFromSocket } from "./status-error.ts";
import { openWebSocket, type SocketRequest } from "./web-socket.ts";

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With its query string. */
  readonly path: string;
  readonly body?: string | undefined;
  readonly contentType?: string | undefined;
  /** Of the answer; JSON when left out. */
  readonly accept?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface TransportOptions extends RetryTools, PoolOptions {
  /** From the start of a try to the end of its answer; for a watch, to the start of its answer. */
  readonly requestTimeoutMs: number;
  readonly userAgent: string;
}

/** An answer whose body has yet to be read. Dispose it when that is done. */
interface OpenAnswer extends Disposable {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData["headers"];
  readonly body: Dispatcher.ResponseData["body"];
  /** From here on the answer may take as long as it likes. */
  readonly liftDeadline: () => void;
  /** What a failure while reading the body means to the caller. */
  readonly failure: (error: unknown) => unknown;
}

export class Transport {
  readonly #connection: Connection;
  readonly #options: TransportOptions;
  readonly #credentials: CredentialCache;
  readonly #pools: ConnectionPools;
  #closed = false;

  constructor(connection: Connection, options: TransportOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#credentials = new CredentialCache(connection.readCredentials, { clock: options.clock, rereadMs: connection.rereadMs });
    this.#pools = new ConnectionPools(connection, options);
  }

  /** How many connections there are for requests. */
  get open(): number {
    return this.#pools.open;
  }

  /** The whole text of a successful answer. */
  send(request: ApiRequest): Promise<string> {
    const attempt = async (): Promise<string> => {
      using answer = await this.#authenticated(request, "request");
      const text = await readBody(answer);
      if (answer.status >= 200 && answer.status < 300) return text;
      throw this.#refusal(request, answer, text);
    };
    return withRetries(this.#options, request.method === "GET", attempt, request.signal);
  }

  /** The chunks of a successful answer, as they come. Reading slowly slows the server down; leaving the loop hangs up. */
  async *stream(request: ApiRequest): AsyncGenerator<Buffer, void, undefined> {
    const attempt = async (): Promise<OpenAnswer> => {
      const answer = await this.#authenticated(request, "watch");
      // Without content: the log of a pod that no node has.
      if (answer.status === 200 || answer.status === 204) return answer;
      using refused = answer;
      throw this.#refusal(request, refused, await readBody(refused));
    };
    using answer = await withRetries(this.#options, true, attempt, request.signal);
    answer.liftDeadline();
    try {
      yield* answer.body as AsyncIterable<Buffer>;
    } catch (error) {
      throw answer.failure(error);
    }
  }

  /** A WebSocket, paused. It may stay open for as long as it likes. */
  async socket(request: SocketRequest): Promise<WebSocket> {
    const credentials = await this.#credentials.current();
    try {
      return await this.#openSocket(request, credentials);
    } catch (error) {
      if (!isApiError(error, "Unauthorized")) throw error;
      return this.#openSocket(request, await this.#credentials.renew(credentials));
    }
  }

  async #openSocket(request: SocketRequest, credentials: Credentials): Promise<WebSocket> {
    if (this.#closed) throw new ApiError("Unreachable", "the socket was not opened: the client is closed");
    const { clock, requestTimeoutMs, userAgent } = this.#options;
    using abort = new ChildAbort(request.signal);
    const tooLate = new ApiError("Timeout", `${this.#connection.origin} did not open a socket within ${requestTimeoutMs} ms`);
    const deadline = clock.after(requestTimeoutMs, () => abort.abort(tooLate));
    try {
      const options = { connection: this.#connection, credentials, userAgent, now: () => clock.now() };
      return await openWebSocket({ ...request, signal: abort.signal }, options);
    } finally {
      deadline.cancel();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#pools.close();
  }

  #refusal(request: ApiRequest, answer: OpenAnswer, text: string): ApiError {
    const refused = {
      request: nameOf(request),
      status: answer.status,
      contentType: headerOf(answer, "content-type") ?? "",
      retryAfter: headerOf(answer, "retry-after"),
      text,
    };
    return errorFromAnswer(refused, this.#options.clock.now());
  }

  /** A refused credential is read again once: it may have been replaced since. */
  async #authenticated(request: ApiRequest, use: PoolUse): Promise<OpenAnswer> {
    const credentials = await this.#credentials.current();
    const answer = await this.#open(request, use, credentials);
    if (answer.status !== 401) return answer;
    using refused = answer;
    await refused.body.dump();
    return this.#open(request, use, await this.#credentials.renew(credentials));
  }

  async #open(request: ApiRequest, use: PoolUse, credentials: Credentials): Promise<OpenAnswer> {
    if (this.#closed) throw new ApiError("Unreachable", `${nameOf(request)} was not sent: the client is closed`);
    request.signal?.throwIfAborted();
    const { origin, basePath, socketPath } = this.#connection;
    // Over a socket the origin is only a form; people look for the socket.
    const server = socketPath ?? origin;
    const { clock, requestTimeoutMs, userAgent } = this.#options;
    const abort = new ChildAbort(request.signal);
    const tooLate = new ApiError("Timeout", `${nameOf(request)} was not answered by ${server} within ${requestTimeoutMs} ms`);
    const deadline = clock.after(requestTimeoutMs, () => abort.abort(tooLate));
    const release = (): void => {
      deadline.cancel();
      abort[Symbol.dispose]();
    };
    const failure = (error: unknown): unknown =>
      abort.signal.aborted ? abort.signal.reason : error instanceof ApiError ? error : errorFromSocket(nameOf(request), server, error);
    try {
      const answer = this.#pools.get(use, credentials.tls).request({
        origin,
        path: basePath + request.path,
        method: request.method,
        headers: {
          accept: request.accept ?? "application/json",
          "user-agent": userAgent,
          ...(request.contentType === undefined ? {} : { "content-type": request.contentType }),
          ...mutableHeaders(credentials),
        },
        body: request.body ?? null,
        signal: abort.signal,
      });
      // By itself the pool notices an abort only when the request's turn for a connection comes.
      const { statusCode, headers, body } = await abortable(answer, abort.signal);
      return { status: statusCode, headers, body, liftDeadline: () => deadline.cancel(), failure, [Symbol.dispose]: release };
    } catch (error) {
      release();
      throw failure(error);
    }
  }
}

async function readBody(answer: OpenAnswer): Promise<string> {
  try {
    return await answer.body.text();
  } catch (error) {
    throw answer.failure(error);
  }
}

/** For messages: without the query, which says little and can be long. */
function nameOf(request: ApiRequest): string {
  return `${request.method} ${request.path.replace(/\?.*$/, "")}`;
}

function headerOf(answer: OpenAnswer, name: string): string | undefined {
  const value = answer.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function mutableHeaders({ headers }: Credentials): Record<string, string | string[]> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, typeof value === "string" ? value : [...value]]));
}
