/** `agentbox serve` as a process, found by what it says in its log. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { vi } from "vitest";

const launcher = join(import.meta.dirname, "../../bin/agentbox");

export interface ServeOptions {
  /** Parts and flags. */
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

interface LogLine {
  readonly msg: string;
  readonly address?: string;
  readonly health?: string;
}

export class ServeProcess implements AsyncDisposable {
  readonly lines: LogLine[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #stderr = "";

  /** At free ports of this machine. */
  constructor({ words, env }: ServeOptions) {
    const ports = ["--port", "--gateway-port", "--health-port"].flatMap((flag) => [flag, "0"]);
    const surroundings = { PATH: process.env["PATH"], HOME: process.env["HOME"], AGENTBOX_LISTEN: "127.0.0.1", ...env };
    this.#child = spawn(launcher, ["serve", ...words, ...ports], { env: surroundings, stdio: ["ignore", "pipe", "pipe"] });
    this.#ended = once(this.#child, "exit");
    const { stdout, stderr } = this.#child;
    if (stdout !== null) createInterface(stdout).on("line", (line) => this.lines.push(JSON.parse(line) as LogLine));
    stderr?.on("data", (data: Buffer) => (this.#stderr += data.toString()));
  }

  has(msg: string): boolean {
    return this.lines.some((line) => line.msg === msg);
  }

  /** Resolves when it has said so; fails when it ends instead. */
  async says(msg: string): Promise<LogLine> {
    // On a busy machine several processes that start at once take longer than anything else.
    const patience = { timeout: 60_000, interval: 20 };
    await vi.waitFor(() => {
      if (this.#child.exitCode !== null) throw new Error(`it ended with ${this.#child.exitCode}: ${this.#stderr}`);
      if (!this.has(msg))
        throw new Error(`it has not said ${JSON.stringify(msg)}, but last ${JSON.stringify(this.lines.at(-1))}: ${this.#stderr}`);
    }, patience);
    return this.lines.findLast((line) => line.msg === msg) as LogLine;
  }

  async api(): Promise<string> {
    return (await this.says("API listens")).address ?? "";
  }

  async gateway(): Promise<string> {
    return (await this.says("gateway listens")).address ?? "";
  }

  async ready(): Promise<string> {
    const answer = await fetch(`${(await this.says("agentbox starts")).health ?? ""}/readyz`);
    return answer.text();
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Resolves with its exit code, or the signal that ended it. */
  async ended(): Promise<number | string | null> {
    await this.#ended;
    return this.#child.exitCode ?? this.#child.signalCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill("SIGKILL");
    await this.#ended;
  }
}
