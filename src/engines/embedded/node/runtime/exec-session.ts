/**
 * A command in a running container, with pipes or with a terminal of the container's own.
 *
 * X1 The runtime is not between us and the command: it starts it and is gone. An attached `runc exec` would wait for
 *    everybody who holds the command's output, background processes too.
 * X2 The exit code is known as soon as the command has ended; its output ends when it has been read, even if background
 *    processes still hold the other end.
 * X3 Who aborts kills the command with all of its process group.
 */
import { closeSync, fchownSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { ReadStream } from "node:tty";
import type { Clock } from "#lib/clock.ts";
import { DescriptorInbox } from "#engines/embedded/node/linux/passed-descriptor.ts";
import { identify, signalGroup } from "#engines/embedded/node/linux/processes.ts";
import { openPipe, resizeTerminal } from "#engines/embedded/node/linux/terminal.ts";
import type { ExecCommand, ExecSession } from "#kube/pod-access.ts";
import { ContainerProcess } from "./container-process.ts";
import { endWhenQuiet } from "./end-when-quiet.ts";
import type { OciRuntime } from "./oci-runtime.ts";
import type { SpecProcess } from "./spec/container-spec.ts";

export interface ExecDeps {
  readonly runtime: OciRuntime;
  readonly containerId: string;
  /** A new folder for this command's files. */
  readonly folder: string;
  readonly process: SpecProcess;
  /** User outside who the command is. */
  readonly owner: number;
  readonly clock: Clock;
}

export class CommandSession implements ExecSession {
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly exitCode: Promise<number>;
  #size: ExecCommand["tty"];
  #terminal: number | undefined;

  /** `prepare` is asked for what the command needs when it is started; its failure is the command's. */
  constructor(prepare: () => ExecDeps, { tty, signal }: Pick<ExecCommand, "tty" | "signal">) {
    this.#size = tty;
    // Who reads only the exit code, or only the output, must not be hit by the other's failure.
    this.exitCode = this.#run(prepare, signal);
    this.exitCode.catch(() => {
      this.stdout.end();
      this.stderr.end();
    });
  }

  resize(rows: number, cols: number): void {
    this.#size = { rows, cols };
    if (this.#terminal !== undefined) resizeTerminal(this.#terminal, rows, cols);
  }

  async #run(prepare: () => ExecDeps, signal: AbortSignal | undefined): Promise<number> {
    // The caller gets its session before anything can go wrong with it.
    await Promise.resolve();
    signal?.throwIfAborted();
    const deps = prepare();
    mkdirSync(deps.folder, { mode: 0o700 });
    try {
      const started = await (this.#size === undefined ? startWithPipes(deps) : startWithTerminal(deps));
      return await this.#follow(started, deps.clock, signal);
    } finally {
      rmSync(deps.folder, { recursive: true, force: true });
    }
  }

  async #follow(started: Started, clock: Clock, signal: AbortSignal | undefined): Promise<number> {
    const identity = identify(started.pid);
    if (identity === undefined) throw new Error(`the command's process ${started.pid} was collected by somebody else`);
    const command = new ContainerProcess(identity);
    if (started.kind === "pipes") this.#connectPipes(started, clock, command.ended);
    else this.#connectTerminal(started.terminal, clock, command.ended);
    const kill = (): void => signalGroup(started.pid, "SIGKILL");
    if (signal?.aborted === true) kill();
    signal?.addEventListener("abort", kill, { once: true });
    try {
      const { code } = await command.ended;
      signal?.throwIfAborted();
      return code;
    } finally {
      signal?.removeEventListener("abort", kill);
    }
  }

  #connectPipes({ input, output, errors }: StartedWithPipes, clock: Clock, ended: Promise<unknown>): void {
    const stdin = new Socket({ fd: input, readable: false, writable: true });
    // A command that does not read to the end is no failure of ours.
    stdin.on("error", () => {});
    this.stdin.pipe(stdin);
    endWhenQuiet({ from: readerOf(output), to: this.stdout, clock, ended });
    endWhenQuiet({ from: readerOf(errors), to: this.stderr, clock, ended });
  }

  #connectTerminal(terminal: number, clock: Clock, ended: Promise<unknown>): void {
    this.#terminal = terminal;
    if (this.#size !== undefined) resizeTerminal(terminal, this.#size.rows, this.#size.cols);
    const stream = new ReadStream(terminal);
    stream.on("close", () => {
      this.#terminal = undefined;
    });
    this.stdin.pipe(stream);
    this.stderr.end();
    endWhenQuiet({ from: stream, to: this.stdout, clock, ended });
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

async function startWithPipes(deps: ExecDeps): Promise<Started> {
  const [input, output, errors] = [openPipe(), openPipe(), openPipe()] as const;
  try {
    // Theirs, so that they may open them again by name.
    for (const theirs of [input.reader, output.writer, errors.writer]) fchownSync(theirs, deps.owner, deps.owner);
    const pid = await deps.runtime.exec({ ...request(deps, false), stdio: [input.reader, output.writer, errors.writer] });
    return { kind: "pipes", pid, input: input.writer, output: output.reader, errors: errors.reader };
  } catch (error) {
    for (const ours of [input.writer, output.reader, errors.reader]) closeSync(ours);
    throw error;
  } finally {
    for (const theirs of [input.reader, output.writer, errors.writer]) closeSync(theirs);
  }
}

/** The runtime makes the terminal inside the container and leaves its other side in our inbox before it goes. */
async function startWithTerminal(deps: ExecDeps): Promise<Started> {
  using inbox = new DescriptorInbox(join(deps.folder, "tty"));
  const pid = await deps.runtime.exec({ ...request(deps, true), consoleSocket: inbox.path, stdio: ["ignore", "ignore", "ignore"] });
  return { kind: "terminal", pid, terminal: inbox.receive() };
}

/** Writes down what is to be run. */
function request(deps: ExecDeps, terminal: boolean): { id: string; folder: string; processFile: string } {
  const processFile = join(deps.folder, "process.json");
  writeFileSync(processFile, JSON.stringify({ ...deps.process, terminal }));
  return { id: deps.containerId, folder: deps.folder, processFile };
}
