import { UsageError } from "../failure.ts";
import type { MachineImage } from "../machine-images.ts";
import { byteSize } from "../print/byte-size.ts";
import { humanDuration } from "../print/human-duration.ts";
import { shortDigest } from "../print/layer-progress.ts";
import { TableText } from "../print/table-text.ts";
import type { WordAction } from "../word-action.ts";
import { printJson } from "./print-json.ts";

export const listImages: WordAction = {
  flags: ["output"],
  run: async (context, words, args) => {
    if (words.length > 0) throw new UsageError(`image ls takes no names: unexpected ${words.join(" ")}`);
    await using images = await context.images();
    const found = await images.list();
    if (args.has("output")) printJson(context, found);
    else if (found.length === 0) context.stdout.write("No images on this machine\n");
    else context.stdout.write(new TableText().lay([header, ...found.map((image) => row(image, context.clock.now()))]));
    return 0;
  },
};

const header = ["NAME", "ID", "PLATFORM", "SIZE", "FROM", "AGE", "USED"];

function row({ shortName, id, platform, bytes, source, since, lastUsed }: MachineImage, now: number): string[] {
  return [
    shortName,
    shortDigest(id),
    platform,
    byteSize(bytes),
    source,
    humanDuration(now - since),
    `${humanDuration(now - lastUsed)} ago`,
  ];
}
