import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import { UsageError } from "../failure.ts";
import { commandFlags, isTerminal, runCommand } from "../sandbox/run-command.ts";
import { runTerminal } from "../sandbox/run-terminal.ts";

export const exec: Command = {
  usage: ["exec ID [FLAGS] -- COMMAND …", "exec ID -t [FLAGS] [-- COMMAND …]"],
  about:
    "Runs a command in a sandbox, without a shell, and exits with its exit code, as if it ran here: its input and output are passed on " +
    "byte for byte, without a limit, and so are Ctrl-C and SIGTERM. With -t it runs at this terminal.",
  examples: [
    { does: "List files in a sandbox", line: "agentbox exec ID -- ls -l /" },
    { does: "Open a shell", line: "agentbox exec -t ID" },
    { does: "Run a shell command line", line: "agentbox exec ID -- sh -c 'echo $HOME | wc -c'" },
    { does: "Send a file as standard input", line: "agentbox exec ID -- sh -c 'cat > /tmp/notes' < notes" },
    { does: "Copy a folder into the sandbox", line: "tar c folder | agentbox exec ID -- tar x -C /tmp" },
  ],
  flags: { ...commandFlags, container: { short: "c", value: "NAME", help: "Container to run in (default: the first)" } },
  run: async (context, args) => {
    const [id, ...words] = args.ownWords;
    if (id === undefined) throw new UsageError("exec needs the ID of a sandbox; agentbox ls lists them");
    const command = [...words, ...(args.afterDashes ?? [])];
    const atTerminal = isTerminal(context, args);
    if (command.length === 0 && !atTerminal) throw new UsageError(`exec needs a command: agentbox exec ${id} -- ls /`);
    const { sandboxes } = await apiClient(context);
    return await (atTerminal ? runTerminal : runCommand)(context, { sandboxes, id }, command, args);
  },
};
