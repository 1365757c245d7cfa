/** Runs a command in a sandbox, as if it ran here: what it writes, and how it ends. */
import type { SandboxesClient } from "#client/sandboxes.ts";
import type { ExecWish } from "#client/sandbox-types.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { CliContext } from "../context.ts";
import { UsageError } from "../failure.ts";
import type { Arguments, Flags } from "../flags.ts";
import { pairsOf } from "./pairs.ts";
import { withProgress } from "./progress.ts";
import { spanOf } from "./spans.ts";

/** The longest that the API runs a command for. */
const longest = "5m";

export const commandFlags: Flags = {
  env: { short: "e", value: "KEY=VALUE", many: true, help: "Set a variable of its environment" },
  user: { short: "u", value: "USER", help: "Run it as this user" },
  workdir: { short: "w", value: "FOLDER", help: "Run it in this folder" },
  tty: { short: "t", help: "Run it at this terminal; a shell when there is no command" },
  stdin: { short: "i", help: "Give it what comes on standard input, to its end" },
  "command-timeout": { value: "DURATION", help: `End it after so long (default and limit: ${longest})` },
};

export interface CommandPlace {
  readonly sandboxes: SandboxesClient;
  readonly id: string;
}

/** Whether the command is to be run at the user's terminal. */
export function isTerminal(args: Arguments): boolean {
  if (!args.isOn("tty")) return false;
  // What is typed goes to it anyway; `-it` is in everybody's fingers.
  if (args.has("command-timeout")) throw new UsageError("--command-timeout cannot be used with --tty");
  return true;
}

/** Resolves with its exit code. */
export async function runCommand(context: CliContext, place: CommandPlace, command: readonly string[], args: Arguments): Promise<number> {
  const wish: ExecWish = {
    command,
    timeout: spanOf(args, "command-timeout") ?? longest,
    ...withoutUndefined({
      env: pairsOf(args, "env"),
      user: args.text("user"),
      workingDir: args.text("workdir"),
      container: args.text("container"),
      stdin: args.isOn("stdin") ? await context.readStdin() : undefined,
    }),
  };
  const running = place.sandboxes.exec(place.id, wish, context.signal);
  const { exitCode, stdout, stderr, truncated } = await withProgress(
    context,
    `Running ${command[0] ?? ""} in sandbox ${place.id}`,
    running,
  );
  context.stdout.write(stdout);
  context.stderr.write(stderr);
  if (truncated) context.stderr.write("agentbox: it wrote more than the API passes on; the rest is missing here\n");
  return exitCode;
}
