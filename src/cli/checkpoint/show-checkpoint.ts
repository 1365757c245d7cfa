import { apiClient } from "../api-client.ts";
import { UsageError } from "../failure.ts";
import { programFormat, programText } from "../print/listing.ts";
import type { WordAction } from "../word-action.ts";

export const showCheckpoint: WordAction = {
  flags: ["output"],
  run: async (context, words, args) => {
    const [name, ...more] = words;
    if (name === undefined || more.length > 0)
      throw new UsageError("checkpoint show takes one ID or name; agentbox checkpoint ls lists them");
    const { checkpoints } = await apiClient(context);
    context.stdout.write(programText(programFormat(args), await checkpoints.get(name, context.signal)) ?? "");
    return 0;
  },
};
