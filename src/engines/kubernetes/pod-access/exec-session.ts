/**
 * A command in a container, over one WebSocket. The first byte of each message is its channel: 0 to 2 are the command's streams, 3 is how
 * it ended, 4 the size of its terminal; 255 closes one (only in the protocol's version 5).
 *
 * - Whoever reads slowly slows the command down: while a stream is full, nothing is read from the socket.
 * - Whoever aborts is told so at once; the command is killed from inside, because the API has no way to.
 */
import { PassThrough, Writable } from "node:stream";
import type { RawData, WebSocket } from "ws";
import { ApiError } from "#kube/api-error.ts";
import type { ExecCommand, ExecSession } from "#kube/pod-access.ts";
import type { Clock, Timer } from "#lib/clock.ts";
import type { Launched } from "./exec-command.ts";
import { exitCodeOf } from "./exit-status.ts";
import { LaunchNoteReader } from "./launch-note.ts";

export const execProtocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"] as const;

const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3, size: 4, close: 255 } as const;
/** Servers take messages of any size into memory at once. */
const maxInputBytes = 32 * 1024;
/** Between us and a pod there may be somebody who gives up on connections that say nothing. */
const pingEveryMs = 30_000;
/** So long an aborted command is waited for to say who it is. */
const noteWithinMs = 10_000;

export interface SessionOptions {
  readonly tty: ExecCommand["tty"] | undefined;
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
  readonly isLaunched: boolean;
  /** Ends the command, if it can be told which it is. */
  readonly kill: (launched: Launched) => void;
}

export class SocketSession implements ExecSession {
  readonly stdin: Writable;
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly exitCode: Promise<number>;
  readonly #socket: WebSocket;
  readonly #options: SessionOptions;
  readonly #note: LaunchNoteReader | undefined;
  readonly #outcome = Promise.withResolvers<number>();
  #launched: Launched | undefined;
  #isAborted = false;
  #ping: Timer | undefined;

  /** `socket` is paused, and read from here on. */
  constructor(socket: WebSocket, options: SessionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.exitCode = this.#outcome.promise;
    // Who reads only the output must not be hit by the failure.
    this.exitCode.catch(() => {});
    this.stdin = new Writable({
      write: (chunk: Buffer, _, done) => this.#send(chunk, done),
      final: (done) => this.#closeInput(done),
    });
    // A command that does not read to the end is no failure of ours.
    this.stdin.on("error", () => {});
    if (options.isLaunched) this.#note = new LaunchNoteReader((note) => this.#onNote(note));
    if (options.tty !== undefined) this.resize(options.tty.rows, options.tty.cols);
    this.#listen();
  }

  resize(rows: number, cols: number): void {
    if (this.#options.tty === undefined) return;
    this.#message(channels.size, Buffer.from(JSON.stringify({ Width: cols, Height: rows })));
  }

  #listen(): void {
    const { signal } = this.#options;
    const onAbort = (): void => this.#abort(signal?.reason);
    this.#socket.on("message", (data) => this.#onMessage(bytesOf(data)));
    this.#socket.on("error", (error) => this.#outcome.reject(lost(error.message)));
    this.#socket.on("close", (code, reason) => {
      signal?.removeEventListener("abort", onAbort);
      this.#ping?.cancel();
      this.#outcome.reject(lost(`${code} ${reason.toString("utf8")}`.trim()));
      this.stdout.end();
      this.stderr.end();
      this.stdin.destroy();
    });
    this.#keepAlive();
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
    this.#socket.resume();
  }

  #onMessage(message: Buffer): void {
    const content = message.subarray(1);
    const channel = message[0];
    if (channel === channels.stdout) this.#deliver(this.stdout, this.#note?.take(content) ?? content);
    else if (channel === channels.stderr) this.#deliver(this.stderr, content);
    else if (channel === channels.status) this.#end(content);
  }

  #deliver(stream: PassThrough, content: Buffer): void {
    if (content.length === 0 || stream.writableEnded || stream.write(content)) return;
    this.#socket.pause();
    stream.once("drain", () => this.#socket.resume());
  }

  /** The server closes when everything is said; one that does not is left. */
  #end(content: Buffer): void {
    const ended = exitCodeOf(content.toString("utf8"));
    if (ended.kind === "exited") this.#outcome.resolve(ended.code);
    else this.#outcome.reject(new Error(ended.why));
    this.#socket.close(1000);
  }

  #onNote(note: Parameters<ConstructorParameters<typeof LaunchNoteReader>[0]>[0]): void {
    if (note.kind === "failed") {
      this.#outcome.reject(new Error(note.why));
      return;
    }
    this.#launched = note.launched;
    if (this.#isAborted) this.#kill(note.launched);
  }

  /** One that has not said who it is yet is killed when it does. */
  #abort(reason: unknown): void {
    this.#isAborted = true;
    this.#outcome.reject(reason);
    this.stdout.end();
    this.stderr.end();
    this.stdin.destroy();
    if (this.#launched !== undefined || this.#note === undefined) {
      this.#kill(this.#launched);
      return;
    }
    // Somebody who stopped reading may have stopped us before the note came.
    this.#socket.resume();
    const patience = this.#options.clock.after(noteWithinMs, () => this.#socket.terminate());
    this.#socket.once("close", () => patience.cancel());
  }

  #kill(launched: Launched | undefined): void {
    if (launched !== undefined) this.#options.kill(launched);
    this.#socket.terminate();
  }

  #send(chunk: Buffer, done: (error?: Error | null) => void): void {
    const [now, later] = [chunk.subarray(0, maxInputBytes), chunk.subarray(maxInputBytes)];
    this.#message(channels.stdin, now, (error) => {
      if (error !== undefined || later.length === 0) done(error);
      else this.#send(later, done);
    });
  }

  /** Version 4 cannot say that there is no more: there, a command that reads to the end waits for ever. */
  #closeInput(done: () => void): void {
    if (this.#socket.protocol === execProtocols[0]) this.#message(channels.close, Buffer.from([channels.stdin]), () => done());
    else done();
  }

  #message(channel: number, content: Buffer, done: (error?: Error) => void = () => {}): void {
    this.#socket.send(Buffer.concat([Buffer.from([channel]), content]), (error) => done(error ?? undefined));
  }

  #keepAlive(): void {
    this.#ping = this.#options.clock.after(pingEveryMs, () => {
      if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping();
      this.#keepAlive();
    });
  }
}

function bytesOf(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}

function lost(why: string): ApiError {
  return new ApiError("Unreachable", `the connection to the container was lost before the command ended: ${why}`);
}
