import { apiClient } from "../api-client.ts";
import { UsageError } from "../failure.ts";
import { printed } from "../print/listing.ts";
import type { WordAction } from "../word-action.ts";

export const createVolume: WordAction = {
  flags: ["size", "output"],
  run: async (context, words, args) => {
    const [name, ...others] = words;
    if (name === undefined || others.length > 0) throw new UsageError("volume create takes one name, such as agentbox volume create data");
    const sizeMiB = args.number("size");
    const { volumes } = await apiClient(context);
    const made = await volumes.create({ name, ...(sizeMiB === undefined ? {} : { sizeMiB }) });
    if (!printed(context, args, made)) context.stdout.write(`volume ${made.name} is there: ${made.id}, ${made.sizeMiB} MiB\n`);
    return 0;
  },
};
