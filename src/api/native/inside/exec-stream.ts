/**
 * A command over a WebSocket: raw bytes in both directions, without a limit of time or size. It lives as long as the shortest of three: the command, the
 * connection, and the server. If the client disconnects, the command is ended.
 *
 * - The command's output is read only when the client has taken what came before: a slow client slows down the command.
 * - The client's input is buffered up to a window, and the client is told when the command has taken it. While a client stays within the window, the
 * server reads its messages even if the command does not read: signals arrive, and a disconnect is noticed. A client that sends more is not read until
 * there is room.
 */
import type { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { Compile } from "typebox/compile";
import type { RawData, WebSocket } from "ws";
import { ChildAbort } from "#lib/abortable.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { formatDuration } from "#model/duration.ts";
import type { ExecRequest, SandboxService } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { closeWebSocket, sendBytes, sendMessage, takeWebSocket } from "#api/http/web-sockets.ts";
import { endMessage } from "./command-end.ts";
import { spanMs } from "#api/native/sandboxes/create-command.ts";
import { type ExecStreamBody, execStreamInputSchema, execStreamSchema } from "#api/native/schemas/execution.ts";
import { requestValidator } from "#api/native/validate-request.ts";

export interface ExecStreamDeps {
  readonly sandboxId: string;
  /** Starts the command, which ends with the signal. */
  readonly start: (command: ExecRequest) => Promise<Session>;
  readonly clock: Clock;
  readonly log: Logger;
}

type Session = Awaited<ReturnType<SandboxService["exec"]>>;

const channels = { stdout: 1, stderr: 2 } as const;
/** Input that a client may send before the command has taken it. */
const inputWindow = 1024 * 1024;
/** Messages buffered before the command runs; each may be small. */
const mostEarly = 4096;
/** Time in which a client must send its command. */
const commandWithinMs = 10_000;

const checkWish = requestValidator(execStreamSchema, "body");
const input = Compile(execStreamInputSchema);

/** Takes over the connection; later errors are reported on it. */
export function openExecStream(deps: ExecStreamDeps, reply: FastifyReply, signal: AbortSignal): void {
  const life = new ChildAbort(signal);
  takeWebSocket(reply, {
    clock: deps.clock,
    onEnd: () => {
      life.abort(new Error("the command's connection ended"));
      life[Symbol.dispose]();
    },
    onOpen: (connection) => void new ExecStream(deps, connection, life).run(signal),
  });
}

class ExecStream {
  readonly #deps: ExecStreamDeps;
  readonly #connection: WebSocket;
  readonly #life: ChildAbort;
  readonly #wish = Promise.withResolvers<ExecStreamBody>();
  #isAsked = false;
  #session: Session | undefined;
  /** Messages that came before the session started. */
  readonly #early: (() => void)[] = [];
  /** Bytes of input not yet taken by the command, and the total of those taken. */
  #held = 0;
  #taken = 0;

  constructor(deps: ExecStreamDeps, connection: WebSocket, life: ChildAbort) {
    this.#deps = deps;
    this.#connection = connection;
    this.#life = life;
  }

  /** Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, sandboxId } = this.#deps;
    const connection = this.#connection;
    const stop = (): void => this.#close(1001, "the server ends");
    signal.addEventListener("abort", stop);
    connection.on("close", () => {
      signal.removeEventListener("abort", stop);
      this.#wish.reject(new Error("the connection ended"));
    });
    connection.on("message", (data, isBinary) => this.#take(data as Buffer, isBinary));
    const late = clock.after(commandWithinMs, () => this.#refuse("the client sent no command within 10 s"));
    try {
      const wish = await this.#wish.promise.finally(() => late.cancel());
      sendMessage(connection, { type: "exit", exitCode: await this.#runCommand(wish) });
      this.#close(1000, "the command has ended");
    } catch (error) {
      if (connection.readyState !== connection.OPEN) return;
      const end = endMessage(this.#life.signal.aborted ? this.#life.signal.reason : error);
      if (end.type === "error") log.warn({ sandboxId, error }, "streamed command failed");
      sendMessage(connection, end);
      this.#close(end.type === "exit" ? 1000 : 1011, "the command failed");
    }
  }

  async #runCommand({ command: argv, timeout, ...rest }: ExecStreamBody): Promise<number> {
    const { clock, start } = this.#deps;
    const { signal } = this.#life;
    const timeoutMs = spanMs(timeout);
    const timer = timeoutMs === undefined ? undefined : clock.after(timeoutMs, () => this.#life.abort(tooLong(timeoutMs)));
    try {
      const session = await start({ ...rest, argv, signal });
      this.#session = session;
      session.stdin.on("error", () => {});
      for (const act of this.#early.splice(0)) act();
      await Promise.all([this.#pass(session.stdout, channels.stdout), this.#pass(session.stderr, channels.stderr)]);
      return await session.exitCode;
    } finally {
      timer?.cancel();
    }
  }

  /** Runs to the end of the command, or until the client disconnects. */
  async #pass(stream: Readable, channel: number): Promise<void> {
    try {
      for await (const chunk of stream) await sendBytes(this.#connection, Buffer.concat([Buffer.of(channel), chunk as Buffer]));
    } catch (error) {
      if (!stream.destroyed || this.#connection.readyState !== this.#connection.OPEN) throw error;
    }
  }

  #take(data: RawData & Buffer, isBinary: boolean): void {
    if (this.#connection.readyState !== this.#connection.OPEN) return;
    if (isBinary) return this.#takeInput(data);
    const message = parsed(data);
    if (!this.#isAsked) return this.#takeWish(message);
    if (!input.Check(message)) return this.#refuse("unknown message; see the API description of exec-stream");
    this.#act((session) => {
      if (message.type === "signal") session.signal(message.signal);
      else if (message.type === "close") session[message.stream].destroy();
      else session.stdin.end();
    });
  }

  #takeWish(message: unknown): void {
    this.#isAsked = true;
    const checked = checkWish(message);
    if ("error" in checked) this.#wish.reject(checked.error);
    else this.#wish.resolve(checked.value as ExecStreamBody);
  }

  #takeInput(bytes: Buffer): void {
    if (!this.#isAsked) return this.#refuse("the first message must be the command, as JSON");
    this.#held += bytes.length;
    if (this.#held > inputWindow) this.#connection.pause();
    const taken = (): void => {
      this.#held -= bytes.length;
      this.#taken += bytes.length;
      sendMessage(this.#connection, { type: "taken", bytes: this.#taken });
      if (this.#held <= inputWindow) this.#connection.resume();
    };
    // Input after eof, or after the end of the command, is dropped.
    this.#act(({ stdin }) => (stdin.writable ? stdin.write(bytes, taken) : taken()));
  }

  #act(act: (session: Session) => unknown): void {
    const session = this.#session;
    if (session !== undefined) return void act(session);
    this.#early.push(() => this.#act(act));
    if (this.#early.length > mostEarly) this.#refuse("too many messages before the command started");
  }

  #refuse(reason: string): void {
    this.#close(1008, reason);
  }

  #close(code: number, reason: string): void {
    closeWebSocket(this.#connection, this.#deps.clock, code, reason);
  }
}

function tooLong(timeoutMs: number): ServiceError {
  return new ServiceError("timeout", `the command did not end within ${formatDuration(timeoutMs)} and was killed`);
}

function parsed(data: Buffer): unknown {
  try {
    return JSON.parse(data.toString());
  } catch {
    return undefined;
  }
}
