import { apiClient } from "../api-client.ts";
import { throwCollected, UsageError } from "../failure.ts";
import type { WordAction } from "../word-action.ts";
import { named } from "./env-words.ts";

export const deleteEnvs: WordAction = {
  flags: ["namespace", "end-sandboxes"],
  run: async (context, words, args) => {
    if (words.length === 0) throw new UsageError("envs rm needs the name of an Env; agentbox envs ls lists them");
    const { envs } = await apiClient(context);
    const endSandboxes = args.isOn("end-sandboxes");
    const errors: unknown[] = [];
    for (const name of words) {
      try {
        await envs.delete(named(name, args), { endSandboxes }, context.signal);
        context.stdout.write(`env ${name} will be deleted${endSandboxes ? " with its sandboxes" : " when its sandboxes have ended"}\n`);
      } catch (error) {
        errors.push(error);
      }
    }
    throwCollected(errors);
    return 0;
  },
};
