import { withoutUndefined } from "#lib/without-undefined.ts";
import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import { CliError } from "../failure.ts";
import { oneId } from "../sandbox/one-id.ts";
import { withProgress } from "../sandbox/progress.ts";
import { spanOf } from "../sandbox/spans.ts";

export const fork: Command = {
  usage: ["fork ID [--count N] [--timeout DURATION]"],
  about:
    "Makes sandboxes that begin with the files of another one, and prints their ids. The original goes on. Processes are not copied. " +
    "Each sandbox comes, or fails, by itself.",
  examples: [{ does: "Try ten ways from one state", line: "agentbox fork ID --count 10" }],
  flags: {
    count: { short: "n", value: "N", help: "How many (default: 1)" },
    timeout: { value: "DURATION", help: "End them after this time (default: with the original)" },
  },
  run: async (context, args) => {
    const id = oneId("fork", args.words);
    const wish = withoutUndefined({ count: args.number("count"), lifetime: spanOf(args, "timeout") });
    const { checkpoints } = await apiClient(context);
    const { sandboxes, failures } = await withProgress(context, `Forking sandbox ${id}`, checkpoints.fork(id, wish, context.signal));
    for (const { sandbox } of sandboxes) context.stdout.write(`${sandbox.sandboxId}\n`);
    if (failures.length === 0) return 0;
    throw new CliError(failures.map(({ message }) => `one sandbox was not made: ${message}`).join("\n"));
  },
};
