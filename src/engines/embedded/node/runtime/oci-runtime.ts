/**
 * Drives an OCI runtime by its commands. Siblings: runtime-traits.ts (in what runtimes differ), known-escapes.ts (which versions
 * are trusted), find-command.ts,
 * exec-fifo.ts (lets a created container go), exec-session.ts (commands inside), container-process.ts (who runs, and how
 * it ended), spec/ (what the runtime is told).
 *
 * A command of the runtime is started in a session of its own: Ctrl-C for us must not stop it half way.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import { runSmall } from "#engines/embedded/node/linux/small-shell.ts";
import { openExecFifo, waitsAtFifo } from "./exec-fifo.ts";
import { findCommand } from "./find-command.ts";
import { type RuntimeTraits, runtimeTraits } from "./runtime-traits.ts";

export interface CreateCommand {
  readonly id: string;
  /** Folder with config.json; also for the pid file and the runtime's own log. */
  readonly bundle: string;
  /** Descriptor of the file for stdout and stderr of the container. */
  readonly log: number;
}

export interface ExecRequest {
  readonly id: string;
  /** Folder for the files of this command. */
  readonly folder: string;
  readonly processFile: string;
  readonly consoleSocket?: string | undefined;
  readonly stdio: readonly [number | "ignore", number | "ignore", number | "ignore"];
}

export interface RuntimeFolders {
  /** For the state of all runtimes. */
  readonly state: string;
  /** For what is needed while a command runs. */
  readonly scratch: string;
}

export class OciRuntime {
  readonly traits: RuntimeTraits;
  readonly version: string;
  /** What it was built from, as it says itself; empty if it does not. */
  readonly build: string;
  /** Undefined if the machine has it no longer: then its containers can only be removed. */
  readonly #command: string | undefined;
  readonly #state: string;
  readonly #scratch: string;

  private constructor(traits: RuntimeTraits, command: string | undefined, said: string, { state, scratch }: RuntimeFolders) {
    this.traits = traits;
    this.#command = command;
    this.version = /version\s+(\S+)/.exec(said)?.[1] ?? "unknown";
    this.build = /^commit:\s*(\S+)/m.exec(said)?.[1] ?? "";
    this.#state = state;
    this.#scratch = scratch;
  }

  /** Finds the runtime on this machine. */
  static async open(runtimeClassName: string, { state, scratch }: RuntimeFolders): Promise<OciRuntime> {
    const traits = runtimeTraits(runtimeClassName);
    const command = findCommand(traits.command);
    if (command === undefined) throw missing(traits);
    const said = await runCommand([command, "--version"]);
    const own = join(state, runtimeClassName);
    mkdirSync(own, { recursive: true, mode: 0o700 });
    return new OciRuntime(traits, command, said, { state: own, scratch });
  }

  /** A runtime that had containers and may be gone from the machine since then. */
  static async openAny(runtimeClassName: string, folders: RuntimeFolders): Promise<OciRuntime> {
    const traits = runtimeTraits(runtimeClassName);
    if (findCommand(traits.command) !== undefined) return OciRuntime.open(runtimeClassName, folders);
    return new OciRuntime(traits, undefined, "", { ...folders, state: join(folders.state, runtimeClassName) });
  }

  /** Creates a container that waits to be started; gives the pid of its first process. */
  async create({ id, bundle, log }: CreateCommand): Promise<number> {
    const pidFile = join(bundle, "pid");
    const verb = ["create", "--bundle", bundle, "--pid-file", pidFile, id];
    await this.#run(verb, join(bundle, "create.log"), `/proc/${process.pid}/fd/${log}`);
    return Number(readFileSync(pidFile, "utf8"));
  }

  /** Lets a created container go; `ended` resolves if its first process ends instead. */
  async start(id: string, ended: Promise<unknown>): Promise<void> {
    if (this.traits.startBy === "fifo") await openExecFifo(this.#fifo(id), ended);
    else await this.#run(["start", id], this.#scratchLog());
  }

  /** True if a container that was created has been let go; `pid` is its first process. */
  async isStarted(id: string, pid: number): Promise<boolean> {
    if (this.traits.startBy === "fifo") return !waitsAtFifo(this.#fifo(id), pid);
    // Nobody can start it any more.
    if (this.#command === undefined) return true;
    const state = JSON.parse(await runCommand([this.#command, ...this.#flags(), "state", id])) as { status: string };
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
  async exec({ id, folder, processFile, consoleSocket, stdio }: ExecRequest): Promise<number> {
    const pidFile = join(folder, "pid");
    const terminal = consoleSocket === undefined ? [] : ["--console-socket", consoleSocket];
    const log = join(folder, "exec.log");
    const verb = ["exec", "--detach", "--process", processFile, "--pid-file", pidFile, ...terminal, id];
    // Not by a small shell: it is to have the ends of our pipes.
    const env = { PATH: process.env["PATH"] ?? "" };
    const child = spawn(this.#require(), this.#args(verb, log), { stdio: [...stdio], detached: true, env });
    const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
    if (code !== 0) throw this.#failure(verb, log, code === null ? `killed by ${signal}` : `exit code ${code}`);
    return Number(readFileSync(pidFile, "utf8"));
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
    return join(this.#scratch, `${randomUUID()}.log`);
  }

  #fifo(id: string): string {
    return join(this.#state, id, "exec.fifo");
  }

  #flags(): string[] {
    return [...this.traits.flags, "--root", this.#state];
  }

  /** `output`: file for what the command, and the container that it makes, write. */
  async #run(verb: readonly string[], log: string, output?: string): Promise<void> {
    const code = await runSmall({ argv: [this.#require(), ...this.#args(verb, log)], output });
    if (code !== 0) throw this.#failure(verb, log, `exit code ${code}`);
    rmSync(log, { force: true });
  }

  #args(verb: readonly string[], log: string): string[] {
    return [...this.#flags(), "--log", log, "--log-format", "json", ...verb];
  }

  #failure(verb: readonly string[], log: string, otherwise: string): Error {
    const said = lastMessage(readIfPresent(log) ?? "") ?? otherwise;
    rmSync(log, { force: true });
    return new Error(`${this.traits.command} ${verb[0]}: ${said}`);
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
