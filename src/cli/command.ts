import type { CliContext } from "./context.ts";
import type { Arguments, Flags } from "./flags.ts";

/** One command. Its file has the implementation and the help; command-table.ts lists all commands. */
export interface Command {
  /** Forms of the command line, one per line, without the program's name. */
  readonly usage: readonly string[];
  /** A few sentences for the help. */
  readonly about: string;
  readonly examples: readonly Example[];
  readonly flags: Flags;
  /** The actions of a command such as `image` or `key`. */
  readonly words?: readonly string[];
  /** Resolves with the exit code; rejects with the errors of failure.ts or of the API. */
  readonly run: (context: CliContext, args: Arguments) => Promise<number>;
}

export interface Example {
  readonly does: string;
  readonly line: string;
}
