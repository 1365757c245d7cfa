/**
 * A terminal over a WebSocket. It lives as long as the shortest of three: the command, the connection, and the server.
 *
 * Output is read when the client has taken what came before; typed input is taken when the command reads.
 */
import type { FastifyReply } from "fastify";
import { Compile } from "typebox/compile";
import type { RawData, WebSocket } from "ws";
import { ChildAbort } from "#lib/abortable.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { SandboxService } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { closeWebSocket, sendBytes, sendMessage, takeWebSocket } from "#api/http/web-sockets.ts";
import { endMessage } from "./command-end.ts";
import { terminalInputSchema } from "#api/native/schemas/execution.ts";

export interface TerminalDeps {
  readonly sandboxId: string;
  /** Starts the command, which ends with the signal. */
  readonly start: (ended: AbortSignal) => Promise<Session>;
  readonly clock: Clock;
  readonly log: Logger;
}

type Session = Pick<Awaited<ReturnType<SandboxService["exec"]>>, "stdin" | "stdout" | "stderr" | "resize" | "exitCode">;

const input = Compile(terminalInputSchema);

/** Rejects while an HTTP error can still be sent; resolves once the connection is taken over. */
export async function openTerminal(deps: TerminalDeps, reply: FastifyReply, signal: AbortSignal): Promise<void> {
  const life = new ChildAbort(signal);
  const session = await deps.start(life.signal);
  // The client disconnected meanwhile, which has also ended the command.
  if (signal.aborted) throw new ServiceError("canceled", "the client disconnected before the terminal opened");
  takeWebSocket(reply, {
    clock: deps.clock,
    onEnd: () => {
      life.abort(new Error("the terminal's connection ended"));
      life[Symbol.dispose]();
    },
    onOpen: (connection) => void new Terminal(deps, connection, session).run(signal),
  });
}

class Terminal {
  readonly #deps: TerminalDeps;
  readonly #connection: WebSocket;
  readonly #session: Session;

  constructor(deps: TerminalDeps, connection: WebSocket, session: Session) {
    this.#deps = deps;
    this.#connection = connection;
    this.#session = session;
  }

  /** Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { stdin, stderr } = this.#session;
    const connection = this.#connection;
    const stop = (): void => this.#close(1001, (signal.reason as Error).message);
    signal.addEventListener("abort", stop);
    connection.on("close", () => signal.removeEventListener("abort", stop));
    connection.on("message", (data, isBinary) => this.#take(data, isBinary));
    stdin.on("error", () => {});
    stdin.on("drain", () => connection.resume());
    // A terminal has one output only.
    stderr.resume();
    try {
      await this.#show();
      sendMessage(connection, { type: "exit", exitCode: await this.#session.exitCode });
      this.#close(1000, "the command has ended");
    } catch (error) {
      const { log, sandboxId } = this.#deps;
      const end = endMessage(error);
      if (connection.readyState === connection.OPEN && end.type === "error") log.warn({ sandboxId, error }, "terminal failed");
      sendMessage(connection, end);
      this.#close(end.type === "exit" ? 1000 : 1011, "the command could not be run");
    }
  }

  async #show(): Promise<void> {
    for await (const chunk of this.#session.stdout) await sendBytes(this.#connection, chunk as Buffer);
  }

  /** Typed as text or as bytes, which may be invalid UTF-8. */
  #take(data: RawData, isBinary: boolean): void {
    // Input that arrives during the close is ignored; it would keep the connection open.
    if (this.#connection.readyState !== this.#connection.OPEN) return;
    if (isBinary) return this.#type(data as Buffer);
    const message = parsed(data);
    if (!input.Check(message)) return this.#close(1008, 'send {"type":"stdin","data":…} or {"type":"resize","rows":…,"cols":…}');
    if (message.type === "resize") this.#session.resize(message.rows, message.cols);
    else this.#type(message.data);
  }

  #type(typed: string | Buffer): void {
    if (this.#session.stdin.writable && !this.#session.stdin.write(typed)) this.#connection.pause();
  }

  #close(code: number, reason: string): void {
    closeWebSocket(this.#connection, this.#deps.clock, code, reason);
  }
}

function parsed(data: RawData): unknown {
  try {
    return JSON.parse((data as Buffer).toString());
  } catch {
    return undefined;
  }
}
