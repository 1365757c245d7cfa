import { apiClient } from "../api-client.ts";
import { throwCollected, UsageError } from "../failure.ts";
import type { WordAction } from "../word-action.ts";

export const deleteCheckpoints: WordAction = {
  flags: [],
  run: async (context, words) => {
    if (words.length === 0) throw new UsageError("checkpoint rm needs an ID or name; agentbox checkpoint ls lists them");
    const { checkpoints } = await apiClient(context);
    const errors: unknown[] = [];
    for (const name of words) {
      try {
        await checkpoints.delete(name, context.signal);
        context.stdout.write(`checkpoint ${name} deleted\n`);
      } catch (error) {
        errors.push(error);
      }
    }
    throwCollected(errors);
    return 0;
  },
};
