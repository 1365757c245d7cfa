import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import { CliError, UsageError } from "../failure.ts";
import { createFlags, createWish, makeAndUse } from "../sandbox/make-sandbox.ts";

export const shell: Command = {
  usage: ["shell [ENV] [FLAGS]", "shell [ENV] [FLAGS] -- COMMAND …"],
  about:
    "Creates a sandbox from an Env or a pool (default: base) and opens a shell in it. The sandbox ends with the shell, unless --keep is given.",
  examples: [
    { does: "Look around in a new sandbox", line: "agentbox shell" },
    { does: "With a variable, and leave the sandbox running afterwards", line: "agentbox shell py -e TOKEN=x --keep" },
    { does: "Run another program instead of the shell", line: "agentbox shell py -- python3" },
  ],
  flags: {
    ...createFlags,
    keep: { help: "Do not end the sandbox after the shell" },
    env: { short: "e", value: "KEY=VALUE", many: true, help: "Set an environment variable" },
    user: { short: "u", value: "USER", help: "Run the shell as this user" },
    workdir: { short: "w", value: "FOLDER", help: "Start the shell in this folder" },
  },
  run: async (context, args) => {
    if (args.afterDashes?.length === 0) throw new UsageError("-- must be followed by a command: agentbox shell base -- python3");
    const wish = createWish("shell", args);
    if (!context.hasTerminal()) throw new CliError("shell needs a terminal, but standard input or output is not one: use agentbox run");
    const { sandboxes } = await apiClient(context);
    return await makeAndUse(context, { sandboxes, wish, atTerminal: true }, args.afterDashes ?? [], args);
  },
};
