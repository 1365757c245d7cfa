/** The process behind a context: runs one piece of code after the other, and is gone when it dies. */
import { randomBytes } from "node:crypto";
import { StringDecoder } from "node:string_decoder";
import { type Clock, sleep } from "#lib/clock.ts";
import type { ArmedState } from "#envd/armed-state.ts";
import { type Command, launch, type Launched } from "#envd/process/launch.ts";
import { FrameReader } from "./frame-reader.ts";
import { type Execution, type Language, type Runner, runnerOf } from "./languages.ts";
import { parseMessage, type RunnerMessage } from "./runner-message.ts";

export type StreamName = "stdout" | "stderr";

export interface ExecutionListener {
  output(name: StreamName, text: string): void;
  message(message: RunnerMessage): void;
}

export interface KernelOptions {
  readonly language: Language;
  readonly clock: Clock;
  /** Where the runners are. */
  readonly programs: string;
  /** Where the helper is. */
  readonly helper: string;
  readonly state: Pick<ArmedState, "isRetired">;
  /** The user, folder and variables that it runs with. */
  readonly as: Omit<Command, "cmd" | "args">;
}

interface Running {
  readonly listener: ExecutionListener;
  /** Both outputs say the end for themselves: what was written before it has then been told. */
  readonly open: Set<StreamName>;
  readonly ended: (how: "ended" | "died") => void;
}

/** How long the last output of one that died is waited for: a program that it has started may hold it open. */
const lastWordsMs = 100;

const silence: ExecutionListener = { output: () => {}, message: () => {} };

export class Kernel {
  /** How it died, for people. */
  readonly died: Promise<string>;
  readonly #launched: Launched;
  readonly #runner: Runner;
  #running: Running | undefined;
  #isDead = false;

  /** Resolves when it is ready to run something. Throws ConnectError when it cannot be started. */
  static async start({ language, clock, programs, helper, state, as }: KernelOptions): Promise<Kernel> {
    const mark = randomBytes(12).toString("hex");
    const own = runnerOf(language, programs, mark);
    const launched = await launch({ helper, state, command: { ...as, cmd: own.cmd, args: own.args }, hasInput: true });
    const kernel = new Kernel(launched, own, mark, clock);
    await kernel.#say(own.opening, silence);
    return kernel;
  }

  private constructor(launched: Launched, runner: Runner, mark: string, clock: Clock) {
    this.#launched = launched;
    this.#runner = runner;
    for (const name of ["stdout", "stderr"] as const) this.#read(name, mark);
    // Writing to an ended process fails here; its end is reported by `died`.
    launched.input?.on("error", () => {});
    this.died = launched.ended.then(async ({ code, signal }) => {
      this.#isDead = true;
      await Promise.race([Promise.all([...launched.outputs.values()].map(({ closed }) => closed)), sleep(clock, lastWordsMs)]);
      this.#running?.ended("died");
      return signal === null ? `exit status ${code}` : `signal ${signal}`;
    });
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  run(execution: Execution, listener: ExecutionListener): Promise<"ended" | "died"> {
    return this.#say(this.#runner.line(execution), listener);
  }

  /** Ends what runs, with all programs that it has started. */
  interrupt(): void {
    this.#signal("SIGINT");
    const { interruptLine } = this.#runner;
    if (interruptLine !== undefined && this.#running !== undefined) this.#launched.input?.write(interruptLine);
  }

  kill(): void {
    this.#signal("SIGKILL");
    for (const { socket } of this.#launched.outputs.values()) socket.destroy();
    this.#launched.input?.destroy();
  }

  /** Makes the code wait until its output has been read. */
  hold(isHeld: boolean): void {
    for (const { socket } of this.#launched.outputs.values()) {
      if (isHeld) socket.pause();
      else socket.resume();
    }
  }

  async #say(line: string, listener: ExecutionListener): Promise<"ended" | "died"> {
    if (this.#isDead) return "died";
    try {
      return await new Promise((ended) => {
        this.#running = { listener, open: new Set<StreamName>(["stdout", "stderr"]), ended };
        if (line !== "") this.#launched.input?.write(line);
      });
    } finally {
      this.#running = undefined;
    }
  }

  #read(name: StreamName, mark: string): void {
    const frames = new FrameReader(mark);
    const decoder = new StringDecoder("utf8");
    this.#launched.outputs.get(name)?.socket.on("data", (chunk: Buffer) => {
      for (const part of frames.push(chunk)) {
        if (part.kind === "text") this.#running?.listener.output(name, decoder.write(part.bytes));
        else this.#heard(name, parseMessage(part.text));
      }
    });
  }

  #heard(name: StreamName, message: RunnerMessage | undefined): void {
    const running = this.#running;
    if (running === undefined || message === undefined) return;
    if (name === "stdout") running.listener.message(message);
    if (message.type !== "end") return;
    running.open.delete(name);
    if (running.open.size === 0) running.ended("ended");
  }

  /** It leads a group of its own, in which the programs are that it has started. */
  #signal(name: "SIGINT" | "SIGKILL"): void {
    if (this.#isDead) return;
    try {
      process.kill(-this.#launched.pid, name);
    } catch {
      // It ended this very moment.
    }
  }
}
