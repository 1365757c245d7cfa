import type { Command } from "../command.ts";

export const version: Command = {
  usage: ["version"],
  about: "Prints the version of AgentBox and of the Node that runs it.",
  examples: [{ does: "Show the installed version", line: "agentbox version" }],
  flags: {},
  run: async (context) => {
    context.stdout.write(`agentbox ${context.version} (node ${process.versions.node})\n`);
    return 0;
  },
};
