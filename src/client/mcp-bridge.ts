/**
 * MCP on standard input and output, for clients that start a program: forwards each message to the server's `/mcp`, and its answers back. The tools are
 * the server's: this file knows neither them nor the version of the protocol.
 */
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { errorFromAnswer } from "./client-error.ts";
import type { HttpCaller } from "./http-caller.ts";

export interface McpBridgeOptions {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly readOnly: boolean;
  /** Keeps the sandboxes of the session after its end. */
  readonly keep: boolean;
  readonly signal?: AbortSignal | undefined;
}

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: {
    readonly _meta?: Readonly<Record<string, unknown>>;
    readonly requestId?: string | number;
    readonly name?: unknown;
    readonly uri?: unknown;
  };
  readonly result?: { readonly protocolVersion?: unknown };
}

const versionKey = "io.modelcontextprotocol/protocolVersion";
const internalError = -32_603;
const parseError = -32_700;
/** Time for ending the session: the client has gone and must not wait long. */
const endTimeoutMs = 10_000;

export class McpBridge {
  readonly #http: HttpCaller;
  readonly #options: McpBridgeOptions;
  readonly #session = randomUUID();
  readonly #open = new Map<string | number, AbortController>();
  readonly #work = new Set<Promise<void>>();
  /** For clients that agree on a version once. */
  #version: string | undefined;

  constructor(http: HttpCaller, options: McpBridgeOptions) {
    this.#http = http;
    this.#options = options;
  }

  /** Resolves when the client has disconnected and the session's sandboxes have been ended. */
  async run(): Promise<void> {
    const { stdin, signal, keep } = this.#options;
    const lines = createInterface({ input: stdin, crlfDelay: Infinity });
    const stop = (): void => lines.close();
    signal?.addEventListener("abort", stop, { once: true });
    for await (const line of lines) if (line.trim() !== "") this.#take(line);
    signal?.removeEventListener("abort", stop);
    for (const abort of this.#open.values()) abort.abort();
    await Promise.all(this.#work);
    if (!keep) await this.#endSession();
  }

  #take(line: string): void {
    let message: Message;
    try {
      message = JSON.parse(line) as Message;
    } catch {
      this.#fail(null, parseError, "the line is not JSON");
      return;
    }
    if (message.method === "notifications/cancelled") {
      this.#open.get(message.params?.requestId ?? "")?.abort();
      return;
    }
    const work = this.#forward(message).finally(() => this.#work.delete(work));
    this.#work.add(work);
  }

  async #forward(message: Message): Promise<void> {
    const abort = new AbortController();
    const { id } = message;
    if (id !== undefined) this.#open.set(id, abort);
    try {
      const { readOnly, keep } = this.#options;
      const query = { readOnly: readOnly || undefined, keep: keep || undefined };
      const response = await this.#http.send({
        method: "POST",
        path: "/mcp",
        query,
        body: message,
        headers: this.#headers(message),
        signal: abort.signal,
      });
      await this.#answer(message, response);
    } catch (error) {
      if (!abort.signal.aborted && id !== undefined) this.#fail(id, internalError, error instanceof Error ? error.message : String(error));
    } finally {
      if (id !== undefined) this.#open.delete(id);
    }
  }

  #headers({ method, params }: Message): Readonly<Record<string, string>> {
    // oxlint-disable-next-line no-underscore-dangle -- the protocol's name
    const own = params?._meta?.[versionKey];
    const version = typeof own === "string" ? own : this.#version;
    const name = params?.name ?? params?.uri;
    return {
      accept: "application/json, text/event-stream",
      "mcp-session-id": this.#session,
      ...(version !== undefined && { "mcp-protocol-version": version }),
      ...(typeof own === "string" && method !== undefined && { "mcp-method": method }),
      ...(typeof own === "string" && typeof name === "string" && { "mcp-name": headerText(name) }),
    };
  }

  async #answer({ id, method }: Message, response: Response): Promise<void> {
    if (response.headers.get("content-type")?.startsWith("text/event-stream") === true) {
      for await (const data of eventData(response.body)) this.#give(data, method);
      return;
    }
    const text = await response.text();
    if (text.trim() === "") return;
    const isMessage = /"jsonrpc"/.test(text);
    if (isMessage) this.#give(text, method);
    // Not an answer of MCP: an invalid key, too many requests, another server.
    else if (id !== undefined) this.#fail(id, internalError, errorFromAnswer(response.status, text, undefined).message);
  }

  #give(text: string, method: string | undefined): void {
    const message = JSON.parse(text) as Message;
    const version = message.result?.protocolVersion;
    if (method === "initialize" && typeof version === "string") this.#version = version;
    this.#options.stdout.write(`${JSON.stringify(message)}\n`);
  }

  #fail(id: string | number | null, code: number, message: string): void {
    this.#options.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } })}\n`);
  }

  async #endSession(): Promise<void> {
    const headers = { "mcp-session-id": this.#session };
    await this.#http.answer({ method: "DELETE", path: "/mcp", headers, signal: AbortSignal.timeout(endTimeoutMs) });
  }
}

/** The protocol's encoding for text that a header cannot contain. */
function headerText(text: string): string {
  return /^[\x21-\x7e]+$/.test(text) && !text.startsWith("=?base64?") ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

/** The data of server-sent events. */
async function* eventData(body: ReadableStream<Uint8Array> | null): AsyncGenerator<string, void> {
  if (body === null) return;
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const events = (rest + decoder.decode(chunk, { stream: true })).replaceAll("\r\n", "\n").split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const data = event.split("\n").flatMap((line) => (line.startsWith("data:") ? [line.slice(5).replace(/^ /, "")] : []));
      if (data.join("") !== "") yield data.join("\n");
    }
  }
}
