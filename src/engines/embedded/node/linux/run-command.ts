import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { systemClock } from "#lib/clock.ts";
import { killTree } from "./process-tree.ts";
import { identify } from "./processes.ts";

export interface CommandOptions {
  readonly input?: string;
  readonly cwd?: string;
  /** For the message when the command is not on this machine. */
  readonly install?: string;
  /** Kills the command with everything that it has started. */
  readonly signal?: AbortSignal;
}

/** A command of the host that failed, with what it said. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly stderr: string;

  constructor(command: readonly string[], outcome: string, stderr: string) {
    super(`${command.join(" ")}: ${outcome}${stderr === "" ? "" : `: ${stderr}`}`);
    this.stderr = stderr;
  }
}

/** Runs a command to its end and gives what it wrote to stdout. */
export async function runCommand(command: readonly [string, ...string[]], options: CommandOptions = {}): Promise<string> {
  const [program, ...args] = command;
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], cwd: options.cwd });
  const ended = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  // A command that ends before it has read everything is judged by its exit code.
  child.stdin.on("error", () => {});
  child.stdin.end(options.input ?? "");
  const kill = (): void => killChild(child);
  options.signal?.addEventListener("abort", kill, { once: true });
  try {
    const [out, err, [code, signal]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    options.signal?.throwIfAborted();
    if (code === 0) return out;
    throw new CommandError(command, code === null ? `killed by ${signal}` : `exit code ${code}`, err.trim());
  } catch (error) {
    throw isMissing(error) ? new CommandError([program], `not found on PATH${hintOf(options)}`, "") : error;
  } finally {
    options.signal?.removeEventListener("abort", kill);
  }
}

function killChild({ pid = 0 }: ChildProcess): void {
  const root = identify(pid);
  if (root !== undefined) void killTree(root, { clock: systemClock, rootIsNodes: true });
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

function hintOf({ install }: CommandOptions): string {
  return install === undefined ? "" : `; install it with: ${install}`;
}
