import type { Command } from "../command.ts";
import { eachSandbox } from "../sandbox/each-sandbox.ts";

export const pause: Command = {
  usage: ["pause ID …"],
  about: "Freezes all processes of sandboxes. Memory and files are kept, no CPU is used, and timeouts stop until they are resumed.",
  examples: [{ does: "Freeze one", line: "agentbox pause ID" }],
  flags: {},
  run: (context, args) =>
    eachSandbox(context, args.words, {
      command: "pause",
      doing: "Pausing",
      act: async (sandboxes, id) => {
        await sandboxes.pause(id, context.signal);
        return "is paused";
      },
    }),
};
