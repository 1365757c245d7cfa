import type { Command } from "../command.ts";

export const down: Command = {
  usage: ["down"],
  about:
    "Ends AgentBox if it runs, and removes its containers, networks and mounts from this machine. Sandboxes go on\n" +
    "running when AgentBox only ends; this is how to end them too. Objects are kept: the next start runs their pods\n" +
    "again, as new containers.",
  examples: [{ does: "Leave the machine as it was", line: "agentbox down" }],
  flags: {},
  run: (context) => context.takeDown(),
};
