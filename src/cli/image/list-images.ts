import { UsageError } from "../failure.ts";
import type { MachineImage } from "../machine-images.ts";
import { byteSize } from "../print/byte-size.ts";
import { humanDuration } from "../print/human-duration.ts";
import { shortDigest } from "../print/layer-progress.ts";
import { type ListColumn, listingFlags, showListing } from "../print/listing.ts";
import type { WordAction } from "../word-action.ts";
import { forPrograms, type PrintedImage } from "./for-programs.ts";

export const listImages: WordAction = {
  flags: Object.keys(listingFlags),
  run: async (context, words, args) => {
    if (words.length > 0) throw new UsageError(`image ls takes no names: unexpected ${words.join(" ")}`);
    await using images = await context.images();
    const load = async (): Promise<readonly PrintedImage[]> => (await images.list()).map(forPrograms);
    return await showListing(context, args, {
      load,
      nameOf: ({ shortName }) => shortName,
      columns,
      empty: "No images on this machine",
      emptyOn: "stdout",
    });
  },
};

const columns: readonly ListColumn<PrintedImage>[] = [
  { name: "NAME", cell: ({ shortName }) => shortName },
  { name: "ID", cell: ({ id }) => shortDigest(id) },
  { name: "PLATFORM", cell: ({ platform }) => platform },
  { name: "SIZE", cell: ({ bytes }) => byteSize(bytes) },
  { name: "FROM", cell: ({ source }) => source },
  { name: "AGE", cell: ({ since }, now) => humanDuration(now - Date.parse(since)) },
  { name: "USED", cell: ({ lastUsed }, now) => `${humanDuration(now - Date.parse(lastUsed))} ago` },
  { name: "FULL-ID", wide: true, cell: ({ id }: Pick<MachineImage, "id">) => id },
];
