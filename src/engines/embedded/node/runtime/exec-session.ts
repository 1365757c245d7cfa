/**
 * A command in a running container, with pipes or with a terminal of the container's own.
 *
 * X1 The runtime starts the command and exits; it does not stay between us and the command. An attached `runc exec` would wait for
 *    all processes that hold the command's output, background processes too.
 * X2 The exit code is known as soon as the command has ended. Its output ends when it has been read, even if background processes
 *    still hold the other end.
 * X3 An abort kills the command with its process group. An abort during the start kills all processes that the runtime has begun.
 */
import { closeSync, fchownSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { ReadStream } from "node:tty";
import type { Clock } from "#lib/clock.ts";
import { startFailure } from "#engines/start-failure.ts";
import { DescriptorInbox } from "#engines/embedded/node/linux/passed-descriptor.ts";
import { identify, signalGroup } from "#engines/embedded/node/linux/processes.ts";
import { openPipe, resizeTerminal } from "#engines/embedded/node/linux/terminal.ts";
import type { Place } from "#lib/lanes.ts";
import type { ExecCommand, ExecSession } from "#kube/pod-access.ts";
import type { ExecSignal } from "#model/exec-signals.ts";
import { ContainerProcess } from "./container-process.ts";
import { endWhenQuiet } from "./end-when-quiet.ts";
import { FirstWords } from "./late-failure.ts";
import type { ExecRequest, OciRuntime } from "./oci-runtime.ts";
import type { SpecProcess } from "./spec/container-spec.ts";

export interface ExecDeps {
  readonly runtime: OciRuntime;
  readonly containerId: string;
  /** A new folder for this command's files. */
  readonly folder: string;
  readonly process: SpecProcess;
  /** The id outside of the user that the command runs as. */
  readonly owner: number;
  /** What starting it takes. */
  readonly places: readonly Place[];
  readonly clock: Clock;
}

export class CommandSession implements ExecSession {
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly exitCode: Promise<number>;
  #size: ExecCommand["tty"];
  #terminal: number | undefined;
  /** The command's process group; undefined before it runs and once it has ended: by then its number may be another's. */
  #running: number | undefined;
  #hasEnded = false;
  /** Signals that came before the command ran. */
  readonly #early: ExecSignal[] = [];

  /** `prepare` is asked for what the command needs when it is started; its failure is the command's. */
  constructor(prepare: () => Promise<ExecDeps> | ExecDeps, { tty, signal }: Pick<ExecCommand, "tty" | "signal">) {
    this.#size = tty;
    // A caller that reads only the exit code, or only the output, must not get an unhandled rejection from the other.
    this.exitCode = this.#run(prepare, signal);
    this.exitCode.catch(() => {
      this.#hasEnded = true;
      this.stdout.end();
      this.stderr.end();
    });
  }

  resize(rows: number, cols: number): void {
    this.#size = { rows, cols };
    if (this.#terminal !== undefined) resizeTerminal(this.#terminal, rows, cols);
  }

  signal(name: ExecSignal): void {
    if (this.#running !== undefined) signalGroup(this.#running, name);
    else if (!this.#hasEnded) this.#early.push(name);
  }

  async #run(prepare: () => Promise<ExecDeps> | ExecDeps, signal: AbortSignal | undefined): Promise<number> {
    // The caller gets its session before anything can go wrong with it.
    await Promise.resolve();
    signal?.throwIfAborted();
    const deps = await prepare();
    signal?.throwIfAborted();
    mkdirSync(deps.folder, { mode: 0o700 });
    try {
      const start = this.#size === undefined ? startWithPipes : startWithTerminal;
      const started = await start(deps, signal).catch((error: unknown) => {
        signal?.throwIfAborted();
        throw startFailure(error, deps.process.args, deps.process.cwd);
      });
      return await this.#follow(started, deps.clock, signal);
    } finally {
      rmSync(deps.folder, { recursive: true, force: true });
    }
  }

  async #follow(started: Started, clock: Clock, signal: AbortSignal | undefined): Promise<number> {
    const identity = identify(started.pid);
    if (identity === undefined) throw new Error(`the command's process ${started.pid} was collected by another process`);
    const command = new ContainerProcess(identity);
    const words =
      started.kind === "pipes"
        ? this.#connectPipes(started, clock, command.ended)
        : this.#connectTerminal(started.terminal, clock, command.ended);
    this.#running = started.pid;
    for (const name of this.#early.splice(0)) this.signal(name);
    const kill = (): void => this.signal("SIGKILL");
    if (signal?.aborted === true) kill();
    signal?.addEventListener("abort", kill, { once: true });
    try {
      const { code } = await command.ended;
      signal?.throwIfAborted();
      return await words.shellCode(code);
    } finally {
      this.#running = undefined;
      this.#hasEnded = true;
      signal?.removeEventListener("abort", kill);
    }
  }

  #connectPipes({ input, output, errors }: StartedWithPipes, clock: Clock, ended: Promise<unknown>): FirstWords {
    const stdin = new Socket({ fd: input, readable: false, writable: true });
    // A command that does not read to the end is no failure of ours.
    stdin.on("error", () => {});
    this.stdin.pipe(stdin);
    // A caller need not end the input of a command that has ended.
    void ended.then(() => stdin.destroy());
    const [stdout, stderr] = [readerOf(output), readerOf(errors)];
    endWhenQuiet({ from: stdout, to: this.stdout, clock, ended });
    endWhenQuiet({ from: stderr, to: this.stderr, clock, ended });
    return new FirstWords(stdout, stderr);
  }

  #connectTerminal(terminal: number, clock: Clock, ended: Promise<unknown>): FirstWords {
    this.#terminal = terminal;
    if (this.#size !== undefined) resizeTerminal(terminal, this.#size.rows, this.#size.cols);
    const stream = new ReadStream(terminal);
    stream.on("close", () => {
      this.#terminal = undefined;
    });
    this.stdin.pipe(stream);
    this.stderr.end();
    endWhenQuiet({ from: stream, to: this.stdout, clock, ended });
    return new FirstWords(stream);
  }
}

function readerOf(fd: number): Socket {
  return new Socket({ fd, readable: true, writable: false });
}

/** Our ends of the command's pipes, or its terminal's other side. */
interface StartedWithPipes {
  readonly kind: "pipes";
  readonly pid: number;
  readonly input: number;
  readonly output: number;
  readonly errors: number;
}
type Started = StartedWithPipes | { readonly kind: "terminal"; readonly pid: number; readonly terminal: number };

async function startWithPipes(deps: ExecDeps, signal: AbortSignal | undefined): Promise<Started> {
  const [input, output, errors] = [openPipe(), openPipe(), openPipe()] as const;
  try {
    // Theirs, so that they may open them again by name.
    for (const theirs of [input.reader, output.writer, errors.writer]) fchownSync(theirs, deps.owner, deps.owner);
    const pid = await deps.runtime.exec({ ...request(deps, false), signal, stdio: [input.reader, output.writer, errors.writer] });
    return { kind: "pipes", pid, input: input.writer, output: output.reader, errors: errors.reader };
  } catch (error) {
    for (const ours of [input.writer, output.reader, errors.reader]) closeSync(ours);
    throw error;
  } finally {
    for (const theirs of [input.reader, output.writer, errors.writer]) closeSync(theirs);
  }
}

/** The runtime makes the terminal inside the container and leaves its other side in our inbox before it goes. */
async function startWithTerminal(deps: ExecDeps, signal: AbortSignal | undefined): Promise<Started> {
  using inbox = new DescriptorInbox(join(deps.folder, "tty"));
  const stdio = ["ignore", "ignore", "ignore"] as const;
  const pid = await deps.runtime.exec({ ...request(deps, true), signal, consoleSocket: inbox.path, stdio });
  return { kind: "terminal", pid, terminal: inbox.receive() };
}

/** Writes down what is to be run. */
function request(deps: ExecDeps, terminal: boolean): Pick<ExecRequest, "id" | "folder" | "processFile" | "places"> {
  const processFile = join(deps.folder, "process.json");
  writeFileSync(processFile, JSON.stringify({ ...deps.process, terminal }));
  return { id: deps.containerId, folder: deps.folder, processFile, places: deps.places };
}
