import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import { CliError, UsageError } from "../failure.ts";
import { runTerminal } from "../sandbox/run-terminal.ts";

export const attach: Command = {
  usage: ["attach ID [FLAGS] [-- COMMAND …]"],
  about: "Opens a shell in a sandbox that is there, at this terminal. The sandbox goes on when the shell ends.",
  examples: [{ does: "A shell in it", line: "agentbox attach ID" }],
  flags: {
    env: { short: "e", value: "KEY=VALUE", many: true, help: "Set a variable of its environment" },
    user: { short: "u", value: "USER", help: "Run the shell as this user" },
    workdir: { short: "w", value: "FOLDER", help: "Start the shell in this folder" },
    container: { short: "c", value: "NAME", help: "In this container (default: the first)" },
  },
  run: async (context, args) => {
    const [id, ...more] = args.ownWords;
    if (id === undefined) throw new UsageError("attach needs the ID of a sandbox: agentbox ls shows them");
    if (more.length > 0) throw new UsageError(`attach takes one ID; write -- before a command: agentbox attach ${id} -- ${more.join(" ")}`);
    if (!context.hasTerminal()) throw new CliError("attach needs a terminal, and standard input or output is none: use agentbox exec");
    const { sandboxes } = await apiClient(context);
    return await runTerminal(context, { sandboxes, id }, args.afterDashes ?? [], args);
  },
};
