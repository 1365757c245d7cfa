import type { Command } from "../command.ts";
import { eachSandbox } from "../sandbox/each-sandbox.ts";

export const resume: Command = {
  usage: ["resume ID …"],
  about:
    "Resumes all processes of paused sandboxes where they stopped. Deeply paused ones get a pod again, and start there with their files.",
  examples: [{ does: "Resume one sandbox", line: "agentbox resume ID" }],
  flags: {},
  run: (context, args) =>
    eachSandbox(context, args.words, {
      command: "resume",
      doing: "Resuming",
      act: async (sandboxes, id) => {
        await sandboxes.resume(id, context.signal);
        return "runs";
      },
    }),
};
