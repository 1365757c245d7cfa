/**
 * A file that lines are appended to, for as long as the server runs: when it has grown too large it is put aside as `.1`, what was `.1`
 * becomes `.2`, and the oldest goes. Nothing waits for the disk; what the disk does not take in time is dropped and counted, so that neither
 * the disk nor the memory fills with it.
 */
import { createWriteStream, openSync, renameSync, statSync, type WriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import type { Clock } from "#lib/clock.ts";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { TextSink } from "#cli/context.ts";
import { type Logger, openLog } from "#lib/log.ts";
import type { HomeFolder } from "#cmd/parts/home-folder.ts";

export interface RotatingFileOptions {
  readonly file: string;
  readonly clock: Clock;
  /** Told when the file cannot be written: a full disk must not take down the server for want of its log. */
  readonly onProblem: (message: string) => void;
  readonly limits?: RotationLimits;
}

export interface RotationLimits {
  /** Of one file, but for the line that goes beyond. */
  readonly maxBytes: number;
  /** With the one that is written to. */
  readonly maxFiles: number;
  /** That wait in memory for the disk. */
  readonly maxPending: number;
}

const mebibyte = 1024 * 1024;
export const usualRotation: RotationLimits = { maxBytes: 10 * mebibyte, maxFiles: 5, maxPending: 16 * mebibyte };
/** A disk that is full stays so for a while. */
const tryAgainMs = 5000;

export class RotatingFile implements AsyncDisposable {
  readonly #options: RotatingFileOptions;
  readonly #limits: RotationLimits;
  #stream: WriteStream | undefined;
  /** Of the file that is written to. */
  #bytes = 0;
  #dropped = 0;
  #brokenAt = -Infinity;
  #isClosed = false;
  readonly #ending = new Set<Promise<void>>();

  constructor(options: RotatingFileOptions) {
    this.#options = options;
    this.#limits = options.limits ?? usualRotation;
    this.#open();
  }

  /** One or more whole lines. */
  write(lines: string): void {
    const stream = this.#stream ?? this.#reopened();
    if (stream === undefined || stream.writableLength > this.#limits.maxPending) {
      this.#dropped++;
      return;
    }
    this.#append(stream, this.#withDropped(lines));
    if (this.#bytes > this.#limits.maxBytes) this.#rotate();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#end();
    await Promise.all(this.#ending);
  }

  #append(stream: WriteStream, text: string): void {
    this.#bytes += Buffer.byteLength(text);
    stream.write(text);
  }

  #withDropped(lines: string): string {
    if (this.#dropped === 0) return lines;
    const said = {
      level: "warn",
      time: new Date(this.#options.clock.now()).toISOString(),
      dropped: this.#dropped,
      msg: "log lines dropped",
    };
    this.#dropped = 0;
    return `${JSON.stringify(said)}\n${lines}`;
  }

  #open(): void {
    const { file } = this.#options;
    try {
      this.#bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
      if (this.#bytes > this.#limits.maxBytes) this.#shift();
      // Opened at once: one that is opened later could be put aside before it is there.
      const stream = createWriteStream(file, { fd: openSync(file, "a", 0o600) });
      stream.on("error", (error) => this.#broken(error, stream));
      this.#stream = stream;
    } catch (error) {
      this.#broken(error as Error, undefined);
    }
  }

  #broken({ message }: Error, stream: WriteStream | undefined): void {
    const { file, clock, onProblem } = this.#options;
    if (this.#stream === stream) {
      this.#stream = undefined;
      this.#brokenAt = clock.now();
    }
    onProblem(`cannot write ${file}: ${message}`);
  }

  #reopened(): WriteStream | undefined {
    if (this.#isClosed || this.#options.clock.now() - this.#brokenAt < tryAgainMs) return undefined;
    this.#open();
    return this.#stream;
  }

  /** What is still to be written goes to the file that is put aside: it stays open until then. */
  #rotate(): void {
    this.#end();
    this.#shift();
    this.#open();
  }

  #shift(): void {
    const { file, onProblem } = this.#options;
    // Counted anew also where it fails: it is tried again when as much has been written again.
    this.#bytes = 0;
    try {
      for (let number = this.#limits.maxFiles - 1; number >= 1; number--) {
        const from = number === 1 ? file : `${file}.${number - 1}`;
        if (statSync(from, { throwIfNoEntry: false }) !== undefined) renameSync(from, `${file}.${number}`);
      }
    } catch (error) {
      onProblem(`cannot put ${file} aside: ${(error as Error).message}`);
    }
  }

  #end(): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    this.#stream = undefined;
    stream.end();
    const ended = finished(stream)
      .catch(() => {})
      .finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}

export interface ServerLog extends AsyncDisposable {
  readonly log: Logger;
  /** Undefined when lines go to stderr. */
  readonly file: string | undefined;
}

export interface ServerLogOptions {
  readonly home: HomeFolder;
  readonly clock: Clock;
  readonly logFormat: "json" | "text" | undefined;
  readonly stderr: TextSink;
}

/** In a terminal the start text is more useful than the log, so the log goes to a file unless another place is configured. */
export async function openServerLog({ home, clock, logFormat, stderr }: ServerLogOptions): Promise<ServerLog> {
  if (logFormat !== undefined) {
    const out = { write: (line: string) => stderr.write(line), isTTY: logFormat === "text" };
    return { log: openLog({ clock, out }), file: undefined, [Symbol.asyncDispose]: async () => {} };
  }
  await mkdir(dirname(home.logFile), { recursive: true, mode: 0o700 });
  const file = new RotatingFile({ file: home.logFile, clock, onProblem: (message) => stderr.write(`${message}\n`) });
  return {
    log: openLog({ clock, out: { write: (line) => file.write(line) } }),
    file: home.logFile,
    [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
  };
}
