/** Runs a command in a sandbox as if it ran here: input, output, signals and exit code. */
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
  env: { short: "e", value: "KEY=VALUE", many: true, help: "Set an environment variable" },
  user: { short: "u", value: "USER", help: "Run the command as this user" },
  workdir: { short: "w", value: "FOLDER", help: "Run the command in this folder" },
  tty: { short: "t", help: "Run the command at this terminal; without a command, run a shell" },
  stdin: { short: "i", help: "Pass standard input also if it is a terminal; files and pipes are always passed" },
  "no-stdin": { short: "n", help: "Pass no input, for example in a loop that reads lines" },
  "command-timeout": { value: "DURATION", help: "End the command after this time (default: never)" },
};

export interface CommandPlace {
  readonly sandboxes: SandboxesClient;
  readonly id: string;
}

/** Whether the command runs at the user's terminal; fails if that is impossible. */
export function isTerminal(context: CliContext, args: Arguments): boolean {
  if (args.isOn("stdin") && args.isOn("no-stdin")) throw new UsageError("--stdin and --no-stdin exclude each other");
  if (!args.isOn("tty")) return false;
  // Typed input is passed anyway, so --stdin changes nothing: many people write -it.
  for (const flag of ["command-timeout", "no-stdin"]) if (args.has(flag)) throw new UsageError(`--${flag} cannot be used with --tty`);
  if (!context.hasTerminal()) throw new CliError("--tty needs a terminal, but standard input or output is not one: remove --tty");
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
