import { apiClient } from "../api-client.ts";
import { UsageError } from "../failure.ts";
import type { WordAction } from "../word-action.ts";

export const removeVolumes: WordAction = {
  flags: ["force"],
  run: async (context, words, args) => {
    if (words.length === 0) throw new UsageError("volume rm needs at least one name or id");
    const { volumes } = await apiClient(context);
    for (const name of words) {
      await volumes.remove(name, { force: args.isOn("force") });
      context.stdout.write(`volume ${name} is gone\n`);
    }
    return 0;
  },
};
