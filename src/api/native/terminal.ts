/**
 * A terminal over a WebSocket. It lives as long as the shortest of three: the command, the connection, and the server.
 *
 * What the command writes is read when the reader has taken what came before; what is typed is taken when the command reads.
 */
import type { FastifyReply } from "fastify";
import { Compile } from "typebox/compile";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { ChildAbort } from "#lib/abortable.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { SandboxService } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { takeConnection } from "../http/upgrades.ts";
import { terminalInputSchema } from "./schemas/execution.ts";

export interface TerminalDeps {
  readonly sandboxId: string;
  /** Starts the command, which ends with the signal. */
  readonly start: (ended: AbortSignal) => Promise<Session>;
  readonly clock: Clock;
  readonly log: Logger;
}

type Session = Awaited<ReturnType<SandboxService["exec"]>>;

/** A silent connection is asked so often whether it is still there, and given up when it has not answered by the next time. */
const pingMs = 30_000;
/** How long a client may take to close when the server wants to. */
const closeMs = 1000;

const connections = new WebSocketServer({ noServer: true, maxPayload: 1024 * 1024, clientTracking: false });
const input = Compile(terminalInputSchema);

/** Rejects while it can still be answered with an error; once the connection is taken, resolves. */
export async function openTerminal(deps: TerminalDeps, reply: FastifyReply, signal: AbortSignal): Promise<void> {
  const life = new ChildAbort(signal);
  const session = await deps.start(life.signal);
  // Who went away meanwhile has ended the command, too.
  if (signal.aborted) throw new ServiceError("canceled", "nobody waits for the terminal any more");
  const { socket, head } = takeConnection(reply);
  // A handshake that is refused, and everything else that ends the connection.
  socket.once("close", () => {
    life.abort(new Error("the terminal's connection ended"));
    life[Symbol.dispose]();
  });
  connections.handleUpgrade(reply.request.raw, socket, head, (connection) => {
    void new Terminal(deps, connection, session).run(signal);
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
    const stop = (): void => this.#close(1001, "the server ends");
    signal.addEventListener("abort", stop);
    connection.on("close", () => signal.removeEventListener("abort", stop));
    connection.on("error", () => {});
    connection.on("message", (data, isBinary) => this.#take(data, isBinary));
    stdin.on("error", () => {});
    stdin.on("drain", () => connection.resume());
    // A terminal has one output only.
    stderr.resume();
    this.#stayAlive();
    try {
      await this.#show();
      this.#send(JSON.stringify({ type: "exit", exitCode: await this.#session.exitCode }));
      this.#close(1000, "the command has ended");
    } catch (error) {
      const { log, sandboxId } = this.#deps;
      if (connection.readyState === connection.OPEN) log.warn({ sandboxId, error }, "terminal failed");
      this.#close(1011, "the command could not be run");
    }
  }

  async #show(): Promise<void> {
    for await (const chunk of this.#session.stdout) {
      await new Promise<void>((resolve, reject) => {
        this.#connection.send(chunk as Buffer, { binary: true }, (error) => (error ? reject(error) : resolve()));
      });
    }
  }

  #take(data: RawData, isBinary: boolean): void {
    // What comes while it closes is not waited for, and would keep it open.
    if (this.#connection.readyState !== this.#connection.OPEN) return;
    const message = isBinary ? undefined : parsed(data);
    if (!input.Check(message)) return this.#close(1008, 'send {"type":"stdin","data":…} or {"type":"resize","rows":…,"cols":…}');
    if (message.type === "resize") this.#session.resize(message.rows, message.cols);
    else if (this.#session.stdin.writable && !this.#session.stdin.write(message.data)) this.#connection.pause();
  }

  #send(text: string): void {
    if (this.#connection.readyState === this.#connection.OPEN) this.#connection.send(text);
  }

  #close(code: number, reason: string): void {
    const connection = this.#connection;
    connection.resume();
    connection.close(code, reason);
    const timer = this.#deps.clock.after(closeMs, () => connection.terminate());
    connection.once("close", () => timer.cancel());
  }

  #stayAlive(): void {
    const connection = this.#connection;
    let answered = true;
    connection.on("pong", () => {
      answered = true;
    });
    const ask = (): void => {
      if (!answered) return connection.terminate();
      // While nothing is read of it no answer can come, but writing to one that is gone fails.
      answered = connection.isPaused;
      connection.ping();
      timer = this.#deps.clock.after(pingMs, ask);
    };
    let timer = this.#deps.clock.after(pingMs, ask);
    connection.once("close", () => timer.cancel());
  }
}

function parsed(data: RawData): unknown {
  try {
    return JSON.parse((data as Buffer).toString());
  } catch {
    return undefined;
  }
}
