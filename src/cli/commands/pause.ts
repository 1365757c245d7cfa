import type { Command } from "../command.ts";
import { eachSandbox } from "../sandbox/each-sandbox.ts";

export const pause: Command = {
  usage: ["pause ID …"],
  about: "Freezes all processes of sandboxes. Memory and files are kept, no CPU is used, and timeouts stop until they are resumed.",
  examples: [
    { does: "Freeze one", line: "agentbox pause ID" },
    { does: "Keep its files alone, and give back its pod", line: "agentbox pause ID --deep" },
  ],
  flags: {
    deep: { help: "Make a checkpoint and give back the pod: files are kept, processes end" },
  },
  run: (context, args) =>
    eachSandbox(context, args.words, {
      command: "pause",
      doing: "Pausing",
      act: async (sandboxes, id) => {
        await sandboxes.pause(id, context.signal, args.isOn("deep") ? { memory: false } : {});
        return "is paused";
      },
    }),
};
