/** The process of a context: runs one piece of code after the other until it dies. */
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
  /** User, folder and variables of the process. */
  readonly as: Omit<Command, "cmd" | "args">;
}

interface Running {
  readonly listener: ExecutionListener;
  /** Both outputs report the end: by then, everything written before has been received. */
  readonly open: Set<StreamName>;
  readonly ended: (how: "ended" | "died") => void;
}

/** How long to wait for the last output of a dead process: a child may keep it open. */
const lastWordsMs = 100;

const silence: ExecutionListener = { output: () => {}, message: () => {} };

export class Kernel {
  /** How it died, in words. */
  readonly died: Promise<string>;
  readonly #launched: Launched;
  readonly #runner: Runner;
  #running: Running | undefined;
  #isDead = false;

  /** Resolves when it is ready. Throws ConnectError if it cannot be started. */
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
    // Writing to an ended process fails here; `died` reports its end.
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

  /** Ends the running code with all programs that it has started. */
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

  /** Pauses the code until its output has been read. */
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

  /** The process leads a process group that includes the programs it starts. */
  #signal(name: "SIGINT" | "SIGKILL"): void {
    if (this.#isDead) return;
    try {
      process.kill(-this.#launched.pid, name);
    } catch {
      // It ended at this moment.
    }
  }
}
