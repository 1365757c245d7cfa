import { parseDuration } from "#model/duration.ts";
import { UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import { byteSize, parseByteSize } from "../print/byte-size.ts";
import { printed } from "../print/listing.ts";
import type { WordAction } from "../word-action.ts";

export const collectImages: WordAction = {
  flags: ["older-than", "keep", "output"],
  run: async (context, words, args) => {
    if (words.length > 0) throw new UsageError(`image gc takes no names: unexpected ${words.join(" ")}; image rm removes by name`);
    const keepBytes = keepOf(args);
    const keepNewerThan = context.clock.now() - ageOf(args);
    await using images = await context.images();
    const collected = await images.collect({ keepBytes, keepNewerThan, signal: context.signal });
    if (printed(context, args, collected)) return 0;
    for (const name of collected.images) context.stdout.write(`${name} removed\n`);
    context.stdout.write(`${byteSize(collected.freedBytes)} freed, ${byteSize(collected.keptBytes)} in use or kept\n`);
    return 0;
  },
};

function keepOf(args: Arguments): number | undefined {
  const text = args.text("keep");
  if (text === undefined) return undefined;
  const bytes = parseByteSize(text);
  if (bytes === undefined) throw new UsageError(`--keep needs a size such as 20GB or 512Mi, not ${JSON.stringify(text)}`);
  return bytes;
}

/** One minute by default: an image that was just pulled may be about to be used. */
function ageOf(args: Arguments): number {
  try {
    return parseDuration(args.text("older-than") ?? "1m");
  } catch (error) {
    throw new UsageError(`--older-than: ${(error as Error).message}`);
  }
}
