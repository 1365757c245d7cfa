import type { CliContext } from "./context.ts";
import type { Arguments, Flags } from "./flags.ts";

/** One command. Its file holds what it does and what its help says; command-table.ts lists them all. */
export interface Command {
  /** How it is called, one form per line, without the program's name. */
  readonly usage: readonly string[];
  /** A few sentences for the help. */
  readonly about: string;
  readonly examples: readonly Example[];
  readonly flags: Flags;
  /** The words that say what to do, where a command has some. */
  readonly words?: readonly string[];
  /** Resolves with the exit code; fails with the errors of failure.ts or of the port. */
  readonly run: (context: CliContext, args: Arguments) => Promise<number>;
}

export interface Example {
  readonly does: string;
  readonly line: string;
}
