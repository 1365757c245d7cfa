/** Connects the user's terminal to a terminal in a sandbox. */
import type { TerminalWish } from "#client/sandbox-types.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import { pairsOf } from "./pairs.ts";
import type { CommandPlace } from "./run-command.ts";

/** Resolves with the exit code of the command; without a command, a shell runs. */
export async function runTerminal(context: CliContext, place: CommandPlace, command: readonly string[], args: Arguments): Promise<number> {
  using user = context.terminal();
  if (user === undefined) throw new CliError("--tty needs a terminal, but standard input or output is not one: remove --tty");
  const { rows, cols } = user;
  const wish: TerminalWish = {
    rows,
    cols,
    ...withoutUndefined({
      command: command.length === 0 ? undefined : command,
      env: pairsOf(args, "env"),
      user: args.text("user"),
      workingDir: args.text("workdir"),
      container: args.text("container"),
    }),
  };
  const terminal = await place.sandboxes.terminal(place.id, wish, { onOutput: user.show, signal: context.signal });
  user.onTyped((bytes) => terminal.type(bytes));
  user.onResize(() => terminal.resize(user.rows, user.cols));
  const { exitCode, startError } = await terminal.ended;
  if (startError !== undefined) context.stderr.write(`agentbox: ${startError}\n`);
  return exitCode;
}
