import type { ApiKeyInfo } from "#client/keys.ts";
import { apiClient } from "../api-client.ts";
import { UsageError } from "../failure.ts";
import { age } from "../print/human-duration.ts";
import { type ListColumn, listingFlags, showListing } from "../print/listing.ts";
import type { WordAction } from "../word-action.ts";

export const listKeys: WordAction = {
  flags: Object.keys(listingFlags),
  run: async (context, words, args) => {
    if (words.length > 0) throw new UsageError(`key ls takes no names: unexpected ${words.join(" ")}`);
    const { keys } = await apiClient(context);
    return await showListing(context, args, {
      load: () => keys.list(),
      nameOf: ({ id }) => id,
      columns,
      empty: "No API keys",
      emptyOn: "stdout",
    });
  },
};

const columns: readonly ListColumn<ApiKeyInfo>[] = [
  { name: "ID", cell: ({ id }) => id },
  { name: "ROLE", cell: ({ role }) => role },
  { name: "TEAM", cell: ({ team }) => team ?? "-" },
  { name: "USER", cell: ({ user }) => user ?? "-" },
  { name: "AGE", cell: ({ createdAt }, now) => age(createdAt, now) },
  { name: "EXPIRES", cell: ({ expiresAt }) => expiresAt ?? "never" },
  { name: "CREATED-BY", cell: ({ createdBy, source }) => createdBy ?? (source === "global" ? "hub" : "-") },
  { name: "NAME", cell: ({ name }) => name },
];
