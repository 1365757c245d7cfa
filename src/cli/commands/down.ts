import type { Command } from "../command.ts";

export const down: Command = {
  usage: ["down"],
  about:
    "Stops AgentBox if it runs, and removes its containers, networks and mounts from this machine. Sandboxes keep\n" +
    "running when only the server stops; this command ends them too. Objects are kept: the next start runs their pods\n" +
    "again, in new containers.",
  examples: [{ does: "Remove everything that runs", line: "agentbox down" }],
  flags: {},
  run: (context) => context.takeDown(),
};
