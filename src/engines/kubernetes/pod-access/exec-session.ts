/**
 * A command in a container, over one WebSocket. The first byte of each message is its channel: 0 to 2 are the command's streams, 3 is how
 * it ended, 4 the size of its terminal; 255 closes one (only in the protocol's version 5).
 *
 * - A slow reader slows the command down: while a stream is full, nothing is read from the socket.
 * - An aborted call fails at once; the command is killed from inside, because the API has no way to.
 */
import { PassThrough, Writable } from "node:stream";
import type { RawData, WebSocket } from "ws";
import { ApiError } from "#kube/api-error.ts";
import { CommandNotStarted, type ExecCommand, type ExecSession } from "#kube/pod-access.ts";
import type { ExecSignal } from "#model/exec-signals.ts";
import type { Clock, Timer } from "#lib/clock.ts";
import { startFailure } from "#engines/start-failure.ts";
import { type Launched, noRequest } from "./exec-command.ts";
import { exitCodeOf } from "./exit-status.ts";
import { type LaunchNote, LaunchNoteReader } from "./launch-note.ts";

export const execProtocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"] as const;

const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3, size: 4, close: 255 } as const;
/** Servers take messages of any size into memory at once. */
const maxInputBytes = 32 * 1024;
/** A proxy between us and the pod may close silent connections. */
const pingEveryMs = 30_000;
/** How long to wait for an aborted command to report its process id. */
const noteWithinMs = 10_000;

export interface SessionOptions {
  readonly tty: ExecCommand["tty"] | undefined;
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
  /** What was asked for, for what is said of its failure. */
  readonly argv: readonly string[];
  readonly workingDir?: string | undefined;
  readonly isLaunched: boolean;
  /** For the launcher, when it is ready; the command's own input follows when it has been launched. */
  readonly request?: Buffer | undefined;
  /** Signals the command and its process group. */
  readonly send: (launched: Launched, signal: ExecSignal) => void;
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
  /** When the command's own input may be sent. */
  readonly #isTaken = Promise.withResolvers<void>();
  #launched: Launched | undefined;
  #isAborted = false;
  #hasEnded = false;
  /** Signals that came before the command reported its process id. */
  readonly #early: ExecSignal[] = [];
  #ping: Timer | undefined;

  /** `socket` is paused, and read from here on. */
  constructor(socket: WebSocket, options: SessionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.exitCode = this.#outcome.promise;
    // A caller that reads only the output must not get an unhandled rejection.
    this.exitCode.catch(() => {});
    this.stdin = new Writable({
      write: (chunk: Buffer, _, done) => void this.#isTaken.promise.then(() => this.#sendAll(channels.stdin, chunk, done)),
      final: (done) => void this.#closeInput(done),
    });
    // A command that does not read to the end is no failure of ours.
    this.stdin.on("error", () => {});
    if (options.request === undefined) this.#isTaken.resolve();
    if (options.isLaunched) this.#note = new LaunchNoteReader((note) => this.#onNote(note));
    if (options.tty !== undefined) this.resize(options.tty.rows, options.tty.cols);
    // The API cannot close one stream of a command, so a reader that leaves early is told to the command by the signal of a broken pipe.
    for (const stream of [this.stdout, this.stderr]) stream.once("close", () => stream.readableEnded || this.signal("SIGPIPE"));
    this.#listen();
  }

  resize(rows: number, cols: number): void {
    if (this.#options.tty === undefined) return;
    this.#message(channels.size, Buffer.from(JSON.stringify({ Width: cols, Height: rows })));
  }

  /** A command that was not launched cannot be told apart from others, and gets none. */
  signal(name: ExecSignal): void {
    if (this.#hasEnded) return;
    if (this.#launched !== undefined) this.#options.send(this.#launched, name);
    else this.#early.push(name);
  }

  #listen(): void {
    const { signal } = this.#options;
    const onAbort = (): void => this.#abort(signal?.reason);
    this.#socket.on("message", (data) => this.#onMessage(bytesOf(data)));
    this.#socket.on("error", (error) => this.#outcome.reject(lost(error.message)));
    this.#socket.on("close", (code, reason) => {
      signal?.removeEventListener("abort", onAbort);
      this.#ping?.cancel();
      this.#hasEnded = true;
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
    if (content.length === 0 || stream.writableEnded || stream.destroyed || stream.write(content)) return;
    this.#socket.pause();
    const goOn = (): void => {
      stream.off("drain", goOn).off("close", goOn);
      this.#socket.resume();
    };
    stream.on("drain", goOn).on("close", goOn);
  }

  /** The server closes when everything is said; one that does not is left. */
  #end(content: Buffer): void {
    this.#hasEnded = true;
    const ended = exitCodeOf(content.toString("utf8"));
    if (ended.kind === "exited") this.#outcome.resolve(ended.code);
    else this.#outcome.reject(startFailure(new Error(ended.why), this.#options.argv, this.#options.workingDir));
    this.#socket.close(1000);
  }

  #onNote(note: LaunchNote): void {
    if (note.kind === "ready") return this.#sendRequest();
    if (note.kind === "failed") {
      this.#hasEnded = true;
      this.#outcome.reject(new CommandNotStarted(note.fault, note.why));
      return;
    }
    this.#launched = note.launched;
    this.#isTaken.resolve();
    if (this.#isAborted) this.#kill(note.launched);
    else for (const name of this.#early.splice(0)) this.signal(name);
  }

  #sendRequest(): void {
    const { request = noRequest } = this.#options;
    if (this.#isAborted) this.#message(channels.stdin, noRequest, () => this.#socket.terminate());
    else this.#sendAll(channels.stdin, request);
  }

  /** A command that has not reported its process id yet is killed when it does. */
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
    // A reader that stopped may have paused the socket before the process id came.
    this.#socket.resume();
    const patience = this.#options.clock.after(noteWithinMs, () => this.#socket.terminate());
    this.#socket.once("close", () => patience.cancel());
  }

  #kill(launched: Launched | undefined): void {
    if (launched !== undefined) this.#options.send(launched, "SIGKILL");
    this.#socket.terminate();
  }

  #sendAll(channel: number, chunk: Buffer, done: (error?: Error | null) => void = () => {}): void {
    const [now, later] = [chunk.subarray(0, maxInputBytes), chunk.subarray(maxInputBytes)];
    this.#message(channel, now, (error) => {
      if (error !== undefined || later.length === 0) done(error);
      else this.#sendAll(channel, later, done);
    });
  }

  /** Version 4 cannot say that there is no more: there, a command that reads to the end waits for ever. */
  async #closeInput(done: () => void): Promise<void> {
    await this.#isTaken.promise;
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
