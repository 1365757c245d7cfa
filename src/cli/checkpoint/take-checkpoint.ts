import { withoutUndefined } from "#lib/without-undefined.ts";
import { apiClient } from "../api-client.ts";
import { byteSize } from "../print/byte-size.ts";
import { printed } from "../print/listing.ts";
import { oneId } from "../sandbox/one-id.ts";
import { withProgress } from "../sandbox/progress.ts";
import { spanOf } from "../sandbox/spans.ts";
import type { WordAction } from "../word-action.ts";

export const takeCheckpoint: WordAction = {
  flags: ["name", "ttl", "end", "output"],
  run: async (context, words, args) => {
    const id = oneId("checkpoint take", words);
    const wish = withoutUndefined({
      alias: args.text("name"),
      ttl: spanOf(args, "ttl"),
      keepRunning: args.isOn("end") ? false : undefined,
    });
    const { checkpoints } = await apiClient(context);
    const taken = await withProgress(context, `Taking a checkpoint of sandbox ${id}`, checkpoints.take(id, wish, context.signal));
    if (!printed(context, args, taken)) context.stdout.write(`${taken.id} taken, ${byteSize(taken.sizeBytes ?? 0)}\n`);
    return 0;
  },
};
