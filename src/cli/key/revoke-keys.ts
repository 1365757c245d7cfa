import { apiClient } from "../api-client.ts";
import { throwCollected, UsageError } from "../failure.ts";
import type { WordAction } from "../word-action.ts";

export const revokeKeys: WordAction = {
  flags: ["made"],
  run: async (context, words, args) => {
    if (words.length === 0) throw new UsageError("key revoke needs the ID of a key; agentbox key ls lists them");
    const { keys } = await apiClient(context);
    const errors: unknown[] = [];
    for (const id of words) {
      try {
        await keys.revoke(id, args.text("made") as "revoke" | "keep" | undefined);
        context.stdout.write(`key ${id} is revoked\n`);
      } catch (error) {
        errors.push(error);
      }
    }
    throwCollected(errors);
    return 0;
  },
};
