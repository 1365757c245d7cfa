/** `agentbox mcp`: MCP on standard input and output, and the entry for it in a client's configuration. */
import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import { UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import { clientNames } from "../mcp/client-configs.ts";
import { initClient } from "../mcp/init-client.ts";

export const mcp: Command = {
  usage: ["mcp [--read-only] [--keep]", "mcp init CLIENT [--print] [--read-only] [--keep]"],
  about:
    "Speaks MCP on standard input and output, for AI clients that start a program: tools to create sandboxes, run commands and code in them, " +
    "and read and write their files. The server at AGENTBOX_API_URL, or the one of this machine, does the work; it also serves MCP at /mcp. " +
    "Sandboxes created in a session end with it, unless --keep or a tool's keep is set. " +
    `init writes the entry into the configuration of a client: ${clientNames.join(", ")}.`,
  examples: [
    { does: "Set up Claude Code for the project in this folder", line: "agentbox mcp init claude-code" },
    { does: "Show what would be written for Cursor", line: "agentbox mcp init cursor --print" },
    { does: "Offer only tools that change nothing", line: "agentbox mcp --read-only" },
  ],
  flags: {
    "read-only": { help: "Offer only tools that change nothing" },
    keep: { help: "Keep sandboxes after the session that created them" },
    print: { help: "Show what init would write, and write nothing" },
  },
  run: async (context, args) => {
    const [word, ...words] = args.words;
    if (word === undefined) return await serve(context, args);
    if (word !== "init") throw new UsageError(`mcp takes init CLIENT or nothing, not ${JSON.stringify(word)}`);
    return await initClient(context, words, args);
  },
};

async function serve(context: CliContext, args: Arguments): Promise<number> {
  if (args.has("print")) throw new UsageError("--print is for mcp init");
  const client = await apiClient(context);
  using attached = context.attach();
  const stop = new AbortController();
  attached.onSignal(() => stop.abort());
  const { stdin, stdout } = attached;
  await client.serveMcp({ stdin, stdout, readOnly: args.isOn("read-only"), keep: args.isOn("keep"), signal: stop.signal });
  return 0;
}
