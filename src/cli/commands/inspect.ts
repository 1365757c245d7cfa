import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import { yamlText } from "../print/yaml-text.ts";
import { oneId } from "../sandbox/one-id.ts";

export const inspect: Command = {
  usage: ["inspect ID [-o FORMAT]"],
  about:
    "Shows all there is to know about a sandbox, live or ended. Of one that is stuck also why: what its pod waits for or failed with,\n" +
    "and the warnings about it.",
  examples: [{ does: "Why it does not start", line: "agentbox inspect ID" }],
  flags: { output: { short: "o", value: "FORMAT", choices: ["yaml", "json"], help: "How it is shown" } },
  run: async (context, args) => {
    const id = oneId("inspect", args.words);
    const sandbox = await (await apiClient(context)).sandboxes.get(id, context.signal);
    context.stdout.write(args.text("output") === "json" ? `${JSON.stringify(sandbox, null, 2)}\n` : yamlText(sandbox));
    return 0;
  },
};
