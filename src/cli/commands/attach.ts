import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import { CliError, UsageError } from "../failure.ts";
import { runTerminal } from "../sandbox/run-terminal.ts";

export const attach: Command = {
  usage: ["attach ID [FLAGS] [-- COMMAND …]"],
  about: "Opens a shell in an existing sandbox, at this terminal. The sandbox keeps running when the shell ends.",
  examples: [{ does: "Open a shell", line: "agentbox attach ID" }],
  flags: {
    env: { short: "e", value: "KEY=VALUE", many: true, help: "Set an environment variable" },
    user: { short: "u", value: "USER", help: "Run the shell as this user" },
    workdir: { short: "w", value: "FOLDER", help: "Start the shell in this folder" },
    container: { short: "c", value: "NAME", help: "Container to run in (default: the first)" },
  },
  run: async (context, args) => {
    const [id, ...more] = args.ownWords;
    if (id === undefined) throw new UsageError("attach needs the ID of a sandbox; agentbox ls lists them");
    if (more.length > 0) throw new UsageError(`attach takes one ID; write -- before a command: agentbox attach ${id} -- ${more.join(" ")}`);
    if (!context.hasTerminal()) throw new CliError("attach needs a terminal, but standard input or output is not one: use agentbox exec");
    const { sandboxes } = await apiClient(context);
    return await runTerminal(context, { sandboxes, id }, args.afterDashes ?? [], args);
  },
};
