/** Commands with an action word: `agentbox image ls`, `agentbox key create`. */
import type { CliContext } from "./context.ts";
import { UsageError } from "./failure.ts";
import { programFormat } from "./print/listing.ts";
import { type Arguments, orList } from "./flags.ts";

/** One action. */
export interface WordAction {
  /** The flags of the command that this action accepts. */
  readonly flags: readonly string[];
  readonly run: (context: CliContext, words: readonly string[], args: Arguments) => Promise<number>;
}

export type WordActions = Readonly<Record<string, WordAction>>;

/** Runs the action of the first word, after checking that its flags are allowed. */
export function runWordAction(command: string, actions: WordActions): (context: CliContext, args: Arguments) => Promise<number> {
  const flags = new Set(Object.values(actions).flatMap((action) => action.flags));
  return async (context, args) => {
    const [word, ...words] = args.words;
    const action = Object.hasOwn(actions, word ?? "") ? actions[word ?? ""] : undefined;
    if (word === undefined || action === undefined) {
      throw new UsageError(
        `${command} needs one of ${orList(Object.keys(actions))}${word === undefined ? "" : `, not ${JSON.stringify(word)}`}`,
      );
    }
    for (const flag of flags) {
      if (args.has(flag) && !action.flags.includes(flag)) throw new UsageError(`${command} ${word} does not take --${flag}`);
    }
    // Check the format before acting: nothing must be created that cannot be printed.
    if (args.has("output") && !action.flags.includes("watch")) programFormat(args);
    return await action.run(context, words, args);
  };
}
