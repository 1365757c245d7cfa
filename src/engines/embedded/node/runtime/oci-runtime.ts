/**
 * Drives an OCI runtime by its commands. Siblings: runtime-traits.ts (how runtimes differ), known-escapes.ts (which versions are
 * trusted), find-command.ts, runtime-commands.ts (deadlines), exec-fifo.ts (starts a created container), exec-session.ts (commands
 * inside), container-process.ts (a container's first process, and its exit), spec/ (the runtime's input).
 *
 * A command of the runtime is started in a session of its own, so that Ctrl-C does not stop it half way. A command that does not end
 * by its deadline is killed, with the processes that it has in the container by then.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import { killTree } from "#engines/embedded/node/linux/process-tree.ts";
import { identify } from "#engines/embedded/node/linux/processes.ts";
import { runSmall } from "#engines/embedded/node/linux/small-shell.ts";
import type { Place } from "#lib/lanes.ts";
import type { Clock } from "#lib/clock.ts";
import { openExecFifo, waitsAtFifo } from "./exec-fifo.ts";
import { findRuntime } from "./find-command.ts";
import { oomScores, withOomScore } from "./oom-score.ts";
import type { RuntimeCommands } from "./runtime-commands.ts";
import { type RuntimeTraits, runtimeTraits } from "./runtime-traits.ts";

export interface CreateCommand {
  readonly id: string;
  /** Folder with config.json; also for the pid file and the runtime's own log. */
  readonly bundle: string;
  /** Descriptor of the file for stdout and stderr of the container. */
  readonly log: number;
  /** How early it goes when memory is short (oom-score.ts). */
  readonly oomScore: number;
}

export interface ExecRequest {
  readonly id: string;
  /** Folder for the files of this command. */
  readonly folder: string;
  readonly processFile: string;
  readonly consoleSocket?: string | undefined;
  readonly stdio: readonly [number | "ignore", number | "ignore", number | "ignore"];
  readonly places: readonly Place[];
  /** Ends the start; what it has begun is killed. */
  readonly signal?: AbortSignal | undefined;
}

export interface RuntimeOptions {
  /** Folder for the state of all runtimes. */
  readonly state: string;
  /** Folder for what is needed while a command runs. */
  readonly scratch: string;
  readonly clock: Clock;
  readonly commands: RuntimeCommands;
}

export class OciRuntime {
  readonly traits: RuntimeTraits;
  readonly version: string;
  /** What it was built from, as it says itself; empty if it does not. */
  readonly build: string;
  /** Undefined if the machine has it no longer: then its containers can only be removed. */
  readonly #command: string | undefined;
  readonly #state: string;
  readonly #options: RuntimeOptions;

  private constructor(traits: RuntimeTraits, command: string | undefined, said: string, options: RuntimeOptions) {
    this.traits = traits;
    this.#command = command;
    this.version = /version\s+(\S+)/.exec(said)?.[1] ?? "unknown";
    this.build = /^commit:\s*(\S+)/m.exec(said)?.[1] ?? "";
    this.#state = options.state;
    this.#options = options;
  }

  /** Finds the runtime on this machine. */
  static async open(runtimeClassName: string, options: RuntimeOptions): Promise<OciRuntime> {
    const traits = runtimeTraits(runtimeClassName);
    const command = findRuntime(traits.command);
    if (command === undefined) throw missing(traits);
    const said = await runCommand([command, "--version"]);
    const state = join(options.state, runtimeClassName);
    mkdirSync(state, { recursive: true, mode: 0o700 });
    return new OciRuntime(traits, command, said, { ...options, state });
  }

  /** A runtime that had containers and may be gone from the machine since then. */
  static async openAny(runtimeClassName: string, options: RuntimeOptions): Promise<OciRuntime> {
    const traits = runtimeTraits(runtimeClassName);
    if (findRuntime(traits.command) !== undefined) return OciRuntime.open(runtimeClassName, options);
    return new OciRuntime(traits, undefined, "", { ...options, state: join(options.state, runtimeClassName) });
  }

  /** Creates a container that waits to be started; gives the pid of its first process. */
  async create({ id, bundle, log, oomScore }: CreateCommand): Promise<number> {
    const pidFile = join(bundle, "pid");
    const verb = ["create", "--bundle", bundle, "--pid-file", pidFile, id];
    await this.#run(verb, join(bundle, "create.log"), { output: `/proc/${process.pid}/fd/${log}`, oomScore });
    return Number(readFileSync(pidFile, "utf8"));
  }

  /** Lets a created container go; `ended` resolves if its first process ends instead. */
  async start(id: string, ended: Promise<unknown>): Promise<void> {
    if (this.traits.startBy === "fifo") await this.#openFifo(id, ended);
    else await this.#run(["start", id], this.#scratchLog());
  }

  /** True if a created container has been started; `pid` is its first process. */
  async isStarted(id: string, pid: number): Promise<boolean> {
    if (this.traits.startBy === "fifo") return !waitsAtFifo(this.#fifo(id), pid);
    // Without the runtime's command no process can start it any more.
    if (this.#command === undefined) return true;
    const argv = [this.#command, ...this.#flags(), "state", id] as const;
    const said = await this.#options.commands.run(this.#nameOf(["state"]), (signal) => runCommand(argv, { signal }));
    const state = JSON.parse(said) as { status: string };
    return state.status !== "created" && state.status !== "creating";
  }

  async kill(id: string, signal: string): Promise<void> {
    await this.#run(["kill", id, signal], this.#scratchLog());
  }

  /** Removes what the runtime has of a container, running or not, whole or in part; of none it is a success. */
  async delete(id: string): Promise<void> {
    if (!this.list().includes(id)) return;
    if (this.#command === undefined) return this.#forget(id);
    await this.#run(["delete", "--force", id], this.#scratchLog());
  }

  /** Starts a command in a running container and gives the pid of its process, which is ours to wait for. */
  async exec({ id, folder, processFile, consoleSocket, stdio, signal, places }: ExecRequest): Promise<number> {
    const pidFile = join(folder, "pid");
    const terminal = consoleSocket === undefined ? [] : ["--console-socket", consoleSocket];
    const log = join(folder, "exec.log");
    const verb = ["exec", "--detach", "--process", processFile, "--pid-file", pidFile, ...terminal, id];
    // Not by a small shell: it is to have the ends of our pipes.
    const env = { PATH: process.env["PATH"] ?? "" };
    const [program, ...args] = withOomScore(oomScores.command, [this.#require(), ...this.#args(verb, log)]);
    const start = (): ChildProcess => spawn(program, args, { stdio: [...stdio], detached: true, env });
    const outcome = await this.#options.commands.run(this.#nameOf(verb), (ends) => this.#outcomeOf(start(), ends), { signal, places });
    if (outcome !== 0) throw this.#failure(verb, log, typeof outcome === "number" ? `exit code ${outcome}` : `killed by ${outcome}`);
    return Number(readFileSync(pidFile, "utf8"));
  }

  /** Waits for a command's end; one that is not to go on is killed with all that it has started, in the container too. */
  async #outcomeOf(child: ChildProcess, signal: AbortSignal): Promise<number | NodeJS.Signals> {
    const exited = once(child, "exit") as Promise<[number, null] | [null, NodeJS.Signals]>;
    const kill = (): void => {
      const root = identify(child.pid ?? 0);
      if (root !== undefined) void killTree(root, { clock: this.#options.clock, rootIsNodes: true });
    };
    signal.addEventListener("abort", kill, { once: true });
    try {
      const [code, killedBy] = await exited;
      signal.throwIfAborted();
      return code ?? killedBy;
    } finally {
      signal.removeEventListener("abort", kill);
    }
  }

  #openFifo(id: string, ended: Promise<unknown>): Promise<void> {
    return this.#options.commands.run(this.#nameOf(["start"]), async (signal) => {
      const stopped = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      await openExecFifo(this.#fifo(id), Promise.race([ended, stopped])).catch((error: unknown) => {
        signal.throwIfAborted();
        throw error;
      });
    });
  }

  #nameOf([verb]: readonly string[]): string {
    return `${this.traits.command} ${verb}`;
  }

  /** Ids of all containers that the runtime knows. Its state is a folder or some files for each, with the id in their names. */
  list(): string[] {
    const ids = readdirSync(this.#state).flatMap((name) => containerId.exec(name)?.[0] ?? []);
    return [...new Set(ids)];
  }

  #require(): string {
    if (this.#command === undefined) throw missing(this.traits);
    return this.#command;
  }

  /** Its processes are killed by their group. */
  #forget(id: string): void {
    for (const name of readdirSync(this.#state).filter((each) => each.includes(id))) rmSync(join(this.#state, name), { recursive: true });
  }

  #scratchLog(): string {
    return join(this.#options.scratch, `${randomUUID()}.log`);
  }

  #fifo(id: string): string {
    return join(this.#state, id, "exec.fifo");
  }

  #flags(): string[] {
    return [...this.traits.flags, "--root", this.#state];
  }

  /** `output`: file for what the command, and the container that it makes, write. */
  async #run(verb: readonly string[], log: string, { output, oomScore }: { output?: string; oomScore?: number } = {}): Promise<void> {
    const plain = [this.#require(), ...this.#args(verb, log)];
    const argv = oomScore === undefined ? plain : withOomScore(oomScore, plain);
    const code = await this.#options.commands.run(this.#nameOf(verb), (signal) => runSmall({ argv, output, signal }));
    if (code !== 0) throw this.#failure(verb, log, `exit code ${code}`);
    rmSync(log, { force: true });
  }

  #args(verb: readonly string[], log: string): string[] {
    return [...this.#flags(), "--log", log, "--log-format", "json", ...verb];
  }

  #failure(verb: readonly string[], log: string, otherwise: string): Error {
    const said = lastMessage(readIfPresent(log) ?? "") ?? otherwise;
    rmSync(log, { force: true });
    return new Error(`${this.#nameOf(verb)}: ${said}`);
  }
}

function missing({ command, install }: RuntimeTraits): Error {
  return new Error(`the runtime class needs the command ${command}, which is not on PATH; install it with: ${install}`);
}

const containerId = /[0-9a-f]{64}/;

/** The runtime writes one JSON object per line; the last one says why it gave up. */
function lastMessage(log: string): string | undefined {
  const line = log.trim().split("\n").at(-1);
  if (line === undefined || line === "") return undefined;
  try {
    return (JSON.parse(line) as { msg?: string }).msg;
  } catch {
    return line;
  }
}
