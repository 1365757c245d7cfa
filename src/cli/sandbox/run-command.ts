/** Runs a command in a sandbox, as if it ran here: its input, what it writes, signals, and how it ends. */
import type { SandboxesClient } from "#client/sandboxes.ts";
import type { ExecStreamWish } from "#client/sandbox-types.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { AttachedProcess, CliContext } from "../context.ts";
import { CliError, UsageError } from "../failure.ts";
import type { Arguments, Flags } from "../flags.ts";
import { pairsOf } from "./pairs.ts";
import { withProgress } from "./progress.ts";
import { spanOf } from "./spans.ts";

export const commandFlags: Flags = {
  env: { short: "e", value: "KEY=VALUE", many: true, help: "Set a variable of its environment" },
  user: { short: "u", value: "USER", help: "Run it as this user" },
  workdir: { short: "w", value: "FOLDER", help: "Run it in this folder" },
  tty: { short: "t", help: "Run it at this terminal; a shell when there is no command" },
  stdin: { short: "i", help: "Give it standard input also when that is a terminal; files and pipes it is given anyway" },
  "no-stdin": { short: "n", help: "Give it no input, such as in a loop that reads lines" },
  "command-timeout": { value: "DURATION", help: "End it after so long (default: never)" },
};

export interface CommandPlace {
  readonly sandboxes: SandboxesClient;
  readonly id: string;
}

/** Whether the command is to be run at the user's terminal, if that can be. */
export function isTerminal(context: CliContext, args: Arguments): boolean {
  if (args.isOn("stdin") && args.isOn("no-stdin")) throw new UsageError("--stdin and --no-stdin exclude each other");
  if (!args.isOn("tty")) return false;
  // What is typed goes to it anyway, so --stdin changes nothing: many people write -it.
  for (const flag of ["command-timeout", "no-stdin"]) if (args.has(flag)) throw new UsageError(`--${flag} cannot be used with --tty`);
  if (!context.hasTerminal()) throw new CliError("--tty needs a terminal, and standard input or output is none: leave it out");
  return true;
}

/** Resolves with its exit code. */
export async function runCommand(context: CliContext, place: CommandPlace, command: readonly string[], args: Arguments): Promise<number> {
  const wish: ExecStreamWish = {
    command,
    ...withoutUndefined({
      timeout: spanOf(args, "command-timeout"),
      env: pairsOf(args, "env"),
      user: args.text("user"),
      workingDir: args.text("workdir"),
      container: args.text("container"),
    }),
  };
  using own = context.attach();
  const { stdout, stderr } = own;
  const stdin = isInputWanted(own, args) ? own.stdin : undefined;
  const starting = place.sandboxes.execStream(place.id, wish, { stdin, stdout, stderr, signal: context.signal });
  const running = await withProgress(context, `Starting ${command[0] ?? ""} in sandbox ${place.id}`, starting);
  own.onSignal((name) => running.signal(name));
  const { exitCode, startError } = await running.ended;
  if (startError !== undefined) context.stderr.write(`agentbox: ${startError}\n`);
  return exitCode;
}

function isInputWanted({ isStdinTerminal }: AttachedProcess, args: Arguments): boolean {
  return !args.isOn("no-stdin") && (args.isOn("stdin") || !isStdinTerminal);
}
