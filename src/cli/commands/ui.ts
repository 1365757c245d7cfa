import type { Command } from "../command.ts";
import { CliError, UsageError } from "../failure.ts";

export const ui: Command = {
  usage: ["ui"],
  about: "Shows sandboxes, Envs and events as they change, in this terminal; agentbox alone does the same. ? shows the keys.",
  examples: [{ does: "Of another server", line: "agentbox --context prod ui" }],
  flags: {},
  run: async (context, args) => {
    if (args.words.length > 0) throw new UsageError(`ui takes no words: unexpected ${args.words.join(" ")}`);
    if (!context.hasTerminal()) throw new CliError("ui needs a terminal, but standard input or output is not one: use agentbox ls -w");
    const { runLiveView } = await import("../ui/run-live-view.ts");
    return await runLiveView(context);
  },
};
