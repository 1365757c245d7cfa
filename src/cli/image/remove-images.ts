import { throwCollected, UsageError } from "../failure.ts";
import { byteSize } from "../print/byte-size.ts";
import { printed } from "../print/listing.ts";
import type { WordAction } from "../word-action.ts";

export const removeImages: WordAction = {
  flags: ["output"],
  run: async (context, words, args) => {
    if (words.length === 0) throw new UsageError("image rm needs the name of an image");
    await using images = await context.images();
    const errors: unknown[] = [];
    const removed: { name: string; freedBytes: number }[] = [];
    for (const name of words) {
      try {
        const { freedBytes } = await images.remove(name, context.signal);
        removed.push({ name, freedBytes });
        if (!args.has("output")) context.stdout.write(`${name} removed, ${byteSize(freedBytes)} freed\n`);
      } catch (error) {
        if (context.signal.aborted) throw error;
        errors.push(error);
      }
    }
    printed(context, args, removed);
    throwCollected(errors);
    return 0;
  },
};
