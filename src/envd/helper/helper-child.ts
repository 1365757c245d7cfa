/**
 * A running helper. The helper (`helper.c`) is one static program in C for what Node cannot do in a sandbox: it holds the daemon's ports while the sandbox
 * waits (`door.ts`), becomes commands, stores metadata of files, and watches folders.
 */
import { spawn, type ChildProcess, type StdioOptions } from "node:child_process";
import type { Socket } from "node:net";
import { firstFrame } from "./helper-frames.ts";

export interface HelperChildOptions {
  /** Path of the program. */
  readonly helper: string;
  readonly verb: "command" | "attributes" | "watch";
  /** Descriptors from 4 on. */
  readonly descriptors?: readonly number[];
  /** Its output is a pipe to us instead of being discarded. */
  readonly hasOutput?: boolean;
}

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class HelperChild {
  readonly process: ChildProcess;
  /** Exit of the helper, or of the program that it became. The listener is added at once, because a short command ends soon. */
  readonly ended: Promise<Ending>;
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #isClosed = false;
  /** Answers come in the order of the requests. */
  readonly #waiting: ((answer: Buffer | undefined) => void)[] = [];

  constructor({ helper, verb, descriptors = [], hasOutput = false }: HelperChildOptions) {
    const stdio: StdioOptions = ["ignore", hasOutput ? "pipe" : "ignore", "ignore", "pipe", ...descriptors];
    // A session of its own: no terminal, and signals to the daemon's group do not reach it.
    this.process = spawn(helper, [verb], { stdio, env: {}, detached: true, cwd: "/" });
    this.ended = new Promise((resolve) => this.process.once("exit", (code, signal) => resolve({ code, signal })));
    // stdio[3] is "pipe" above.
    this.#socket = this.process.stdio[3] as Socket;
    this.#socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    // The socket closes when the process ends; later requests resolve with undefined.
    this.#socket.on("error", () => {});
    this.#socket.on("end", () => this.#close());
    this.#socket.on("close", () => this.#close());
  }

  /** Sends a request and resolves with its answer. Undefined: the helper ended, or became another program. */
  ask(request: Buffer): Promise<Buffer | undefined> {
    this.#socket.write(request);
    return this.answer();
  }

  /** The next answer, also from a helper that sends first. */
  answer(): Promise<Buffer | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#deliver();
    });
  }

  /** A helper exits when its daemon closes the socket. */
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
