import type { Checkpoint } from "#client/checkpoints.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { apiClient } from "../api-client.ts";
import { UsageError } from "../failure.ts";
import { byteSize } from "../print/byte-size.ts";
import { age } from "../print/human-duration.ts";
import { type ListColumn, listingFlags, showListing } from "../print/listing.ts";
import type { WordAction } from "../word-action.ts";

export const listCheckpoints: WordAction = {
  flags: [...Object.keys(listingFlags), "sandbox"],
  run: async (context, words, args) => {
    if (words.length > 0) throw new UsageError(`checkpoint ls takes no names: unexpected ${words.join(" ")}`);
    const { checkpoints } = await apiClient(context);
    const query = withoutUndefined({ sandboxId: args.text("sandbox") });
    return await showListing(context, args, {
      load: () => checkpoints.list(query, context.signal),
      nameOf: ({ id }) => id,
      columns,
      empty: "No checkpoints",
      emptyOn: "stdout",
    });
  },
};

const columns: readonly ListColumn<Checkpoint>[] = [
  { name: "ID", cell: ({ id }) => id },
  { name: "NAME", cell: ({ alias }) => alias ?? "-" },
  { name: "PHASE", cell: ({ phase }) => phase },
  { name: "SANDBOX", cell: ({ sandboxId }) => sandboxId },
  { name: "SIZE", cell: ({ sizeBytes }) => (sizeBytes === undefined ? "-" : byteSize(sizeBytes)) },
  { name: "AGE", cell: ({ createdAt }, now) => age(createdAt, now) },
  { name: "POOL", wide: true, cell: ({ poolName }) => poolName ?? "-" },
  { name: "PARENT", wide: true, cell: ({ parent }) => parent ?? "-" },
  { name: "BASE", wide: true, cell: ({ baseImage }) => baseImage ?? "-" },
];
