import type { Command } from "../command.ts";
import { eachSandbox } from "../sandbox/each-sandbox.ts";

export const rm: Command = {
  usage: ["rm ID …", "kill ID …"],
  about: "Ends sandboxes, with all that runs and all that was written in them. What is remembered of them stays: agentbox ls --all.",
  examples: [
    { does: "End one", line: "agentbox rm ID" },
    { does: "End all of a pool", line: "agentbox rm $(agentbox ls --pool base -o name)" },
  ],
  flags: {},
  run: (context, args) =>
    eachSandbox(context, args, {
      command: "rm",
      doing: "Ending",
      act: async (sandboxes, id) => {
        await sandboxes.end(id, context.signal);
        return "has ended";
      },
    }),
};
