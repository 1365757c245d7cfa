/**
 * A helper at work. The helper (`helper.c`) is one static program in C for what Node cannot do in a sandbox: it holds the daemon's ports while the
 * sandbox waits (`door.ts`), becomes commands, keeps metadata of files, and watches folders.
 */
import { spawn, type ChildProcess, type StdioOptions } from "node:child_process";
import type { Socket } from "node:net";
import { firstFrame } from "./helper-frames.ts";

export interface HelperChildOptions {
  /** Where the program is. */
  readonly helper: string;
  readonly verb: "command" | "attributes" | "watch";
  /** Descriptors 4 and on. */
  readonly descriptors?: readonly number[];
  /** Its output is a pipe to us, and not nowhere. */
  readonly hasOutput?: boolean;
}

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class HelperChild {
  readonly process: ChildProcess;
  /** How it ended, as the helper or as what it became: listened for from the start, because a short command is over soon. */
  readonly ended: Promise<Ending>;
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #isClosed = false;
  /** Answers come in the order of the requests. */
  readonly #waiting: ((answer: Buffer | undefined) => void)[] = [];

  constructor({ helper, verb, descriptors = [], hasOutput = false }: HelperChildOptions) {
    const stdio: StdioOptions = ["ignore", hasOutput ? "pipe" : "ignore", "ignore", "pipe", ...descriptors];
    // A session of its own: no terminal, and signals of ours do not reach it.
    this.process = spawn(helper, [verb], { stdio, env: {}, detached: true, cwd: "/" });
    this.ended = new Promise((resolve) => this.process.once("exit", (code, signal) => resolve({ code, signal })));
    // stdio[3] is "pipe" above.
    this.#socket = this.process.stdio[3] as Socket;
    this.#socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    // The socket ends with the process, whichever way; requests after that are answered by undefined.
    this.#socket.on("error", () => {});
    this.#socket.on("end", () => this.#close());
    this.#socket.on("close", () => this.#close());
  }

  /** Sends a request and resolves with its answer. Undefined: the helper ended, or became another program. */
  ask(request: Buffer): Promise<Buffer | undefined> {
    this.#socket.write(request);
    return this.answer();
  }

  /** The next answer, also of a helper that speaks first. */
  answer(): Promise<Buffer | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#deliver();
    });
  }

  /** A helper that has no daemon any more ends. */
  letGo(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    this.#deliver();
  }

  #deliver(): void {
    for (let frame = firstFrame(this.#received); frame !== undefined && this.#waiting.length > 0; frame = firstFrame(this.#received)) {
      this.#received = frame.rest;
      this.#waiting.shift()?.(frame.content);
    }
  }

  #close(): void {
    this.#isClosed = true;
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }
}
