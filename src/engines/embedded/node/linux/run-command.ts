import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { type Clock, systemClock } from "#lib/clock.ts";
import { type HostPatience, progressOfTree, withinHostDeadline } from "./host-deadline.ts";
import { killTree } from "./process-tree.ts";
import { identify } from "./processes.ts";

export interface CommandOptions {
  readonly input?: string;
  readonly cwd?: string;
  /** For the message when the command is not on this machine. */
  readonly install?: string;
  /** Kills the command with everything that it has started. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  /** Without it the usual one of host-deadline.ts. */
  readonly patience?: HostPatience;
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

/**
 * Runs a command to its end and gives what it wrote to stdout. Each program of the machine that the node waits for is run here, or in a
 * small shell (small-shell.ts): a command that hangs is killed with everything that it has started, and is an error.
 */
export async function runCommand(command: readonly [string, ...string[]], options: CommandOptions = {}): Promise<string> {
  const [program, ...args] = command;
  const { clock = systemClock, patience, signal } = options;
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], cwd: options.cwd });
  // A command that ends before it has read everything is judged by its exit code.
  child.stdin.on("error", () => {});
  child.stdin.end(options.input ?? "");
  const kill = (): void => {
    killChild(child);
    // A process that has left the tree may hold these open for ever.
    child.stdout.destroy();
    child.stderr.destroy();
  };
  const progress = (): string => progressOfTree(child.pid ?? 0);
  try {
    return await withinHostDeadline(outcomeOf(child, command), { what: program, clock, patience, signal, progress, kill });
  } catch (error) {
    throw isMissing(error) ? new CommandError([program], `not found on PATH${hintOf(options)}`, "") : error;
  }
}

async function outcomeOf(child: ChildProcessWithoutNullStreams, command: readonly string[]): Promise<string> {
  const ended = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  const [out, err, [code, signal]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code === 0) return out;
  throw new CommandError(command, code === null ? `killed by ${signal}` : `exit code ${code}`, err.trim());
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
