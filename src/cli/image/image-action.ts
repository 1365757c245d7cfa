import type { CliContext } from "../context.ts";
import type { Arguments } from "../flags.ts";

/** What one word after `agentbox image` does. */
export interface ImageAction {
  /** Of the flags of the command, those that it takes. */
  readonly flags: readonly string[];
  readonly run: (context: CliContext, words: readonly string[], args: Arguments) => Promise<number>;
}
