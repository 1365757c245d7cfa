/**
 * A command in a sandbox with streamed input and output over a WebSocket: bytes are unchanged, and each side reads only as fast as the other takes. The
 * server documents the messages (`streamCommand` in its OpenAPI document).
 */
import type { Readable, Writable } from "node:stream";
import type { RawData, WebSocket } from "ws";
import type { ErrorCode } from "#model/error-codes.ts";
import type { ExecSignal } from "#model/exec-signals.ts";
import { ClientError } from "./client-error.ts";
import type { ExecStreamWish } from "./sandbox-types.ts";

export interface ExecStreams {
  /** Read to its end, or to the end of the command; left out: the command has no input. */
  readonly stdin?: Readable | undefined;
  /** Stays open after the command. If writing fails, the command gets a broken pipe. */
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Closes the connection, which ends the command. */
  readonly signal?: AbortSignal | undefined;
}

export interface ExecEnd {
  /** As in a shell: 128 plus the signal number if a signal ended it, 126 or 127 if it could not be started. */
  readonly exitCode: number;
  /** Why it could not be started. */
  readonly startError?: string;
}

type Message =
  | { readonly type: "taken"; readonly bytes: number }
  | ({ readonly type: "exit" } & ExecEnd)
  | { readonly type: "error"; readonly code: ErrorCode; readonly detail: string; readonly field?: string };

/** Bytes of input that may be in flight. Below the server's window, so that it always reads our messages. */
const inputWindow = 512 * 1024;
const pieceBytes = 64 * 1024;
const streams = { 1: "stdout", 2: "stderr" } as const;

export class ClientExec {
  /** Rejects with ClientError if the connection ends before the command. By then all output has been written to the streams. */
  readonly ended: Promise<ExecEnd>;
  readonly #socket: WebSocket;
  readonly #streams: ExecStreams;
  readonly #end = Promise.withResolvers<ExecEnd>();
  readonly #closed = new Set<Writable>();
  #sent = 0;
  #taken = 0;
  #onTaken: () => void = () => {};

  /** The socket is open and the server waits for the command. */
  constructor(socket: WebSocket, wish: ExecStreamWish, given: ExecStreams) {
    this.#socket = socket;
    this.#streams = given;
    this.ended = this.#end.promise.then((end) => this.#flushed(end)).finally(() => given.stdin?.destroy());
    this.ended.catch(() => {});
    this.#listen();
    socket.send(JSON.stringify(wish));
    void this.#feed();
  }

  /** Signals the command and its process group. */
  signal(name: ExecSignal): void {
    this.#tell({ type: "signal", signal: name });
  }

  #listen(): void {
    const { signal } = this.#streams;
    const abort = (): void => this.#socket.terminate();
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted === true) abort();
    this.#socket.on("message", (data, isBinary) => (isBinary ? this.#write(data as Buffer) : this.#take(data)));
    this.#socket.on("error", () => {});
    this.#socket.on("close", (_, reason) => {
      signal?.removeEventListener("abort", abort);
      const why = reason.toString();
      this.#end.reject(new ClientError("unavailable", `the connection ended before the command did${why === "" ? "" : `: ${why}`}`));
    });
    for (const name of ["stdout", "stderr"] as const) this.#streams[name].on("error", () => this.#closeOutput(name));
  }

  /** Stops reading from the socket while the output has not been taken. */
  #write(message: Buffer): void {
    const stream = this.#streams[streams[message[0] as 1 | 2]];
    if (this.#closed.has(stream) || stream.write(message.subarray(1))) return;
    this.#socket.pause();
    const goOn = (): void => {
      stream.off("drain", goOn).off("error", goOn).off("close", goOn);
      this.#socket.resume();
    };
    stream.on("drain", goOn).on("error", goOn).on("close", goOn);
  }

  #take(data: RawData): void {
    const message = JSON.parse((data as Buffer).toString()) as Message;
    if (message.type === "taken") {
      this.#taken = message.bytes;
      this.#onTaken();
    } else if (message.type === "exit") {
      const { exitCode, startError } = message;
      this.#end.resolve({ exitCode, ...(startError === undefined ? {} : { startError }) });
    } else {
      const { code, detail, field } = message;
      this.#end.reject(new ClientError(code, detail, field === undefined ? {} : { details: { field } }));
    }
  }

  #closeOutput(name: "stdout" | "stderr"): void {
    const stream = this.#streams[name];
    if (this.#closed.has(stream)) return;
    this.#closed.add(stream);
    this.#tell({ type: "close", stream: name });
  }

  async #feed(): Promise<void> {
    try {
      for await (const chunk of this.#streams.stdin ?? []) await this.#send(chunk as Buffer);
    } catch {
      // An input that fails counts as ended, as for a local command.
    }
    this.#tell({ type: "eof" });
  }

  async #send(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      const piece = chunk.subarray(at, at + pieceBytes);
      while (this.#sent + piece.length - this.#taken > inputWindow) {
        await new Promise<void>((resolve) => {
          this.#onTaken = resolve;
        });
      }
      if (this.#socket.readyState !== this.#socket.OPEN) return;
      this.#socket.send(piece, { binary: true });
      this.#sent += piece.length;
    }
  }

  async #flushed(end: ExecEnd): Promise<ExecEnd> {
    const { stdout, stderr } = this.#streams;
    const open = [stdout, stderr].filter((stream) => !this.#closed.has(stream) && stream.writable);
    await Promise.all(open.map((stream) => new Promise<void>((resolve) => void stream.write("", () => resolve()))));
    return end;
  }

  #tell(message: object): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(JSON.stringify(message));
  }
}
