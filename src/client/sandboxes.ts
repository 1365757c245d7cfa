import { ClientExec, type ExecStreams } from "./exec-stream.ts";
import type { HttpCaller } from "./http-caller.ts";
import { jsonLines } from "./json-lines.ts";
import type {
  CreatedSandbox,
  ExecResult,
  ExecStreamWish,
  ExecWish,
  LogLine,
  LogPart,
  LogQuery,
  Sandbox,
  SandboxPage,
  SandboxQuery,
  SandboxWish,
  TerminalWish,
  TimeoutWish,
} from "./sandbox-types.ts";
import type { Terminal as KeptTerminal } from "./generated/api-types.generated.ts";
import { ClientTerminal, type TerminalEvents } from "./terminal.ts";

export interface CreateCall {
  /** False: answer after the claim, while the sandbox starts. */
  readonly wait?: boolean;
  /** Repeating the request with the same key creates no second sandbox. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

/** All throw ClientError. */
export class SandboxesClient {
  readonly #http: HttpCaller;

  constructor(http: HttpCaller) {
    this.#http = http;
  }

  async create(wish: SandboxWish, { wait, idempotencyKey, signal }: CreateCall = {}): Promise<CreatedSandbox> {
    const headers = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
    return await this.#http.json({ method: "POST", path: "/v1/sandboxes", query: { wait }, body: wish, headers, signal });
  }

  async get(id: string, signal?: AbortSignal): Promise<Sandbox> {
    return (await this.#http.json<OneSandbox>({ method: "GET", path: pathOf(id), signal })).sandbox;
  }

  /** Newest first; live and ended ones. */
  async page(query: SandboxQuery = {}, signal?: AbortSignal): Promise<SandboxPage> {
    const status = query.status?.join(",");
    return await this.#http.json({ method: "GET", path: "/v1/sandboxes", query: { ...query, status }, signal });
  }

  /** Ending an ended sandbox succeeds. */
  async end(id: string, signal?: AbortSignal): Promise<void> {
    await this.#http.json({ method: "DELETE", path: pathOf(id), signal });
  }

  async setTimeouts(id: string, wish: TimeoutWish, signal?: AbortSignal): Promise<Sandbox> {
    return (await this.#http.json<OneSandbox>({ method: "PUT", path: `${pathOf(id)}/timeout`, body: wish, signal })).sandbox;
  }

  async pause(id: string, signal?: AbortSignal, wish: { readonly memory?: boolean } = {}): Promise<Sandbox> {
    return (await this.#http.json<OneSandbox>({ method: "POST", path: `${pathOf(id)}/pause`, body: wish, signal })).sandbox;
  }

  async resume(id: string, signal?: AbortSignal): Promise<Sandbox> {
    return (await this.#http.json<OneSandbox>({ method: "POST", path: `${pathOf(id)}/resume`, signal })).sandbox;
  }

  async logs(id: string, query: LogQuery = {}, signal?: AbortSignal): Promise<LogPart> {
    return await this.#http.json({ method: "GET", path: `${pathOf(id)}/logs`, query: { ...query }, signal });
  }

  /** The log so far, then new lines, until the sandbox ends or the signal aborts. */
  async *followLogs(id: string, query: LogQuery, signal: AbortSignal): AsyncGenerator<LogLine, void> {
    const { body } = await this.#http.answer({ method: "GET", path: `${pathOf(id)}/logs/stream`, query: { ...query }, signal });
    yield* jsonLines<LogLine>(body);
  }

  /** Runs a command with streamed input and output, until it ends or the signal aborts. Resolves when the server has accepted the command. */
  async execStream(id: string, wish: ExecStreamWish, streams: ExecStreams): Promise<ClientExec> {
    return new ClientExec(await this.#http.stream(`${pathOf(id)}/exec/stream`, streams.signal), wish, streams);
  }

  /** Runs a command to its end, for small outputs; any exit code counts as success. */
  async exec(id: string, wish: ExecWish, signal?: AbortSignal): Promise<ExecResult> {
    return await this.#http.json({ method: "POST", path: `${pathOf(id)}/exec`, body: wish, signal });
  }

  /** Resolves when it is open. */
  async terminal(id: string, wish: TerminalWish, events: TerminalEvents): Promise<ClientTerminal> {
    const right = { method: "POST", path: `${pathOf(id)}/exec-token`, body: wish, signal: events.signal } as const;
    const { path } = await this.#http.json<{ readonly path: string }>(right);
    return await new ClientTerminal(this.#http.webSocket(path), events).opened();
  }

  /** Resolves with the process id of a terminal that goes on without a connection. */
  async startTerminal(id: string, wish: TerminalWish, signal?: AbortSignal): Promise<number> {
    const { pid } = await this.#http.json<{ readonly pid: number }>({
      method: "POST",
      path: `${pathOf(id)}/terminals`,
      body: wish,
      signal,
    });
    return pid;
  }

  async terminals(id: string, signal?: AbortSignal): Promise<readonly KeptTerminal[]> {
    return (
      await this.#http.json<{ readonly terminals: readonly KeptTerminal[] }>({ method: "GET", path: `${pathOf(id)}/terminals`, signal })
    ).terminals;
  }

  async endTerminal(id: string, pid: number): Promise<void> {
    await this.#http.answer({ method: "DELETE", path: `${pathOf(id)}/terminals/${pid}` });
  }

  /** Resolves when it is open. Closing it leaves the terminal as it is. */
  async joinTerminal(id: string, { pid, rows, cols }: JoinWish, events: TerminalEvents): Promise<ClientTerminal> {
    const right = { method: "POST", path: `${pathOf(id)}/terminals/${pid}/token`, body: { rows, cols }, signal: events.signal } as const;
    const { path } = await this.#http.json<{ readonly path: string }>(right);
    return await new ClientTerminal(this.#http.webSocket(path), events).opened();
  }
}

export type { KeptTerminal };

export interface JoinWish {
  readonly pid: number;
  readonly rows: number;
  readonly cols: number;
}

interface OneSandbox {
  readonly sandbox: Sandbox;
}

function pathOf(id: string): string {
  return `/v1/sandboxes/${encodeURIComponent(id)}`;
}
