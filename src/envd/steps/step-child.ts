/** A runner at work: it is given scripts one after the other, until it becomes another program or is let go. */
import { spawn, type ChildProcess, type StdioOptions } from "node:child_process";
import type { Socket } from "node:net";
import type { Machine } from "./runner-program.ts";
import { readReply, writeScript, type Reply, type Step } from "./script.ts";

export interface StepChildOptions {
  /** Where the program is. */
  readonly runner: string;
  /** Descriptors 4 and on. */
  readonly descriptors?: readonly number[];
  /** Its output is a pipe to us, and not nowhere. */
  readonly hasOutput?: boolean;
}

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class StepChild {
  readonly process: ChildProcess;
  /** How it ended, as the runner or as what it became: listened for from the start, because a short command is over soon. */
  readonly ended: Promise<Ending>;
  readonly #socket: Socket;
  #received = Buffer.alloc(0);
  #wake: (() => void) | undefined;
  #isClosed = false;
  #turn: Promise<unknown> = Promise.resolve();

  constructor({ runner, descriptors = [], hasOutput = false }: StepChildOptions) {
    const stdio: StdioOptions = ["ignore", hasOutput ? "pipe" : "ignore", "ignore", "pipe", ...descriptors];
    // A session of its own: no terminal, and signals of ours do not reach it.
    this.process = spawn(runner, [], { stdio, env: {}, detached: true, cwd: "/" });
    this.ended = new Promise((resolve) => this.process.once("exit", (code, signal) => resolve({ code, signal })));
    // stdio[3] is "pipe" above.
    this.#socket = this.process.stdio[3] as Socket;
    this.#socket.on("data", (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#wake?.();
    });
    // It ends with the process, whichever way; what is asked of it then is answered by undefined.
    this.#socket.on("error", () => {});
    const closed = (): void => {
      this.#isClosed = true;
      this.#wake?.();
    };
    this.#socket.on("end", closed);
    this.#socket.on("close", closed);
  }

  /** Makes the steps. Undefined: the runner is not there any more, because it became another program or ended. */
  async run(steps: readonly Step[], tells = false): Promise<Reply | undefined> {
    const mine = this.#turn.then(() => this.#run(steps, tells));
    this.#turn = mine.catch(() => undefined);
    return mine;
  }

  async #run(steps: readonly Step[], tells: boolean): Promise<Reply | undefined> {
    // Node runs on these two among the machines that it has prebuilt programs for.
    const script = writeScript(process.arch as Machine, steps, tells);
    this.#socket.write(script.bytes);
    for (;;) {
      const reply = readReply(script, steps.length, this.#received);
      if (reply !== undefined) {
        this.#received = Buffer.alloc(0);
        return reply;
      }
      if (this.#isClosed) return undefined;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** A runner that nobody sends to any more ends. */
  letGo(): void {
    this.#socket.destroy();
  }
}
