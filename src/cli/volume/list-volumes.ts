import type { Volume } from "#client/volumes.ts";
import { apiClient } from "../api-client.ts";
import { UsageError } from "../failure.ts";
import { age } from "../print/human-duration.ts";
import { type ListColumn, listingFlags, showListing } from "../print/listing.ts";
import type { WordAction } from "../word-action.ts";

export const listVolumes: WordAction = {
  flags: Object.keys(listingFlags),
  run: async (context, words, args) => {
    if (words.length > 0) throw new UsageError(`volume ls takes no names: unexpected ${words.join(" ")}`);
    const { volumes } = await apiClient(context);
    return await showListing(context, args, {
      load: () => volumes.list(),
      nameOf: ({ name }) => name,
      columns,
      empty: "No volumes",
      emptyOn: "stdout",
    });
  },
};

const columns: readonly ListColumn<Volume>[] = [
  { name: "NAME", cell: ({ name }) => name },
  { name: "ID", cell: ({ id }) => id },
  { name: "PHASE", cell: ({ phase }) => phase },
  { name: "MIB", cell: ({ sizeMiB }) => String(sizeMiB) },
  { name: "SANDBOXES", cell: ({ mountedBy }) => String(mountedBy.length) },
  { name: "TEAM", cell: ({ team }) => team ?? "-" },
  { name: "USER", cell: ({ user }) => user ?? "-" },
  { name: "AGE", cell: ({ createdAt }, now) => age(createdAt, now) },
];
