/**
 * The cluster's processes. They outlive the `make` that started them: each is a session of its own, writes its own log, and
 * is found again by a file with its pid and start time.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ProcessIdentity, HeldProcess, identify, type Signal } from "#engines/embedded/node/linux/processes.ts";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import type { ClusterLayout } from "./layout.ts";
import { type Say, step, waitUntil } from "./progress.ts";

export interface Program {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What of the command and its arguments makes a difference, where not all of it does. */
  readonly identity?: readonly string[];
  /** Of its configuration: when they or the arguments are others than at its start, it is started anew. */
  readonly files?: readonly string[];
  /** True when it does its work; may be asked when it does not run. */
  readonly ready: () => Promise<boolean>;
}

export type ProgramState = "running" | "not answering" | "ended" | "never started";

interface ProgramRecord extends ProcessIdentity {
  /** Digest of arguments and files. */
  readonly options: string;
}

export class Programs {
  readonly #layout: ClusterLayout;

  constructor(layout: ClusterLayout) {
    this.#layout = layout;
  }

  async state(program: Program): Promise<ProgramState> {
    const identity = this.#recorded(program.name);
    if (identity === undefined) return "never started";
    if (!isAlive(identity)) return "ended";
    return (await program.ready()) ? "running" : "not answering";
  }

  /** Starts it unless it runs and answers. True if that took a start. */
  async ensure(program: Program, say: Say): Promise<boolean> {
    const state = await this.state(program);
    const changed = this.#recorded(program.name)?.options !== optionsOf(program);
    if (state === "running" && !changed) return false;
    if (state === "running" || state === "not answering") {
      say(`  ${program.name} ${changed ? "runs with other options" : "runs but does not answer"}; it is started anew`);
      await this.stop(program.name);
    }
    await step(say, `${state === "never started" ? "starting" : "restarting"} ${program.name}`, () => this.#start(program));
    return true;
  }

  async #start(program: Program): Promise<void> {
    const identity = this.#spawn(program);
    const dead = (): string | undefined =>
      isAlive(identity) ? undefined : `${program.name} ended; the end of its log:\n${this.#logEnd(program.name)}`;
    await waitUntil(`${program.name} (its log: ${this.#log(program.name)})`, program.ready, dead);
  }

  #spawn(program: Program): ProcessIdentity {
    mkdirSync(this.#layout.logs, { recursive: true });
    mkdirSync(this.#layout.pids, { recursive: true });
    const log = openSync(this.#log(program.name), "a");
    const env = { ...process.env, ...program.env };
    const child = spawn(program.command, program.args, { cwd: this.#layout.folder, env, stdio: ["ignore", log, log], detached: true });
    closeSync(log);
    child.on("error", () => {});
    child.unref();
    const identity = child.pid === undefined ? undefined : identify(child.pid);
    if (identity === undefined) throw new Error(`${program.command} could not be started; is it there and executable?`);
    writeFileSync(this.#pidFile(program.name), JSON.stringify({ ...identity, options: optionsOf(program) } satisfies ProgramRecord));
    return identity;
  }

  /** Names of all that were ever started, those of older versions of this file too. */
  recorded(): readonly string[] {
    try {
      return readdirSync(this.#layout.pids).map((file) => file.replace(/\.json$/, ""));
    } catch {
      return [];
    }
  }

  pid(name: string): number | undefined {
    const identity = this.#recorded(name);
    return identity !== undefined && isAlive(identity) ? identity.pid : undefined;
  }

  /** Asks it to end and, if it takes long, ends it. */
  async stop(name: string, patienceMs = 5000): Promise<void> {
    const identity = this.#recorded(name);
    if (identity !== undefined && isAlive(identity)) {
      signal(identity, "SIGTERM");
      const giveUpAt = Date.now() + patienceMs;
      while (isAlive(identity)) {
        if (Date.now() > giveUpAt) signal(identity, "SIGKILL");
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
    rmSync(this.#pidFile(name), { force: true });
  }

  #recorded(name: string): ProgramRecord | undefined {
    const text = readIfPresent(this.#pidFile(name));
    // Empty: this machine lost its power between making the file and filling it.
    return text === undefined || text === "" ? undefined : (JSON.parse(text) as ProgramRecord);
  }

  #pidFile(name: string): string {
    return join(this.#layout.pids, `${name}.json`);
  }

  #log(name: string): string {
    return join(this.#layout.logs, `${name}.log`);
  }

  #logEnd(name: string): string {
    return readFileSync(this.#log(name), "utf8").trimEnd().split("\n").slice(-15).join("\n");
  }
}

function optionsOf({ command, args, identity = [command, ...args], files = [] }: Program): string {
  const hash = createHash("sha256").update(JSON.stringify(identity));
  for (const file of files) hash.update(readIfPresent(file) ?? "");
  return hash.digest("hex");
}

/** A zombie waits for its parent to notice; it runs nothing. */
function isAlive(identity: ProcessIdentity): boolean {
  const held = HeldProcess.hold(identity);
  if (held === undefined) return false;
  held.release();
  return !/\) [ZX] /.test(readIfPresent(`/proc/${identity.pid}/stat`) ?? ") X ");
}

function signal(identity: ProcessIdentity, name: Signal): void {
  const held = HeldProcess.hold(identity);
  held?.signal(name);
  held?.release();
}
