import type { Limit, LimitSet } from "#client/limits.ts";
import { apiClient } from "../api-client.ts";
import { UsageError } from "../failure.ts";
import { type ListColumn, listingFlags, outputOf, programText, showListing } from "../print/listing.ts";
import { TableText } from "../print/table-text.ts";
import type { WordAction } from "../word-action.ts";

export const listLimits: WordAction = {
  flags: ["team", "user", ...Object.keys(listingFlags)],
  run: async (context, words, args) => {
    if (words.length > 0) throw new UsageError(`limits ls takes no names: unexpected ${words.join(" ")}`);
    const { limits } = await apiClient(context);
    // For programs: sets of limits, as the API returns them. For people: one row per limit.
    if (programText(outputOf(args), []) !== undefined) {
      return await showListing(context, args, {
        load: () => limits.list(args.text("team"), args.text("user")),
        nameOf: ownerText,
        columns: [],
        empty: "",
      });
    }
    const load = async (): Promise<readonly LimitRow[]> => (await limits.list(args.text("team"), args.text("user"))).flatMap(rowsOf);
    return await showListing(context, args, {
      load,
      nameOf: ({ owner, name }) => `${owner}/${name}`,
      columns,
      empty: "No limits",
      emptyOn: "stdout",
    });
  },
};

interface LimitRow extends Limit {
  readonly owner: string;
}

const columns: readonly ListColumn<LimitRow>[] = [
  { name: "OF", cell: ({ owner }) => owner },
  { name: "NAME", cell: ({ name }) => name },
  { name: "USED", cell: ({ used }) => used ?? "-" },
  { name: "LIMIT", cell: ({ limit }) => limit ?? "none" },
  { name: "SET", cell: ({ isSet }) => (isSet ? "yes" : "-") },
  { name: "ABOUT", cell: ({ about }) => about },
];

export function limitsTable(sets: readonly LimitSet[]): string {
  if (sets.length === 0) return "No limits\n";
  const rows = sets.flatMap(rowsOf).map((row) => columns.map(({ cell }) => cell(row, 0)));
  return new TableText().lay([columns.map(({ name }) => name), ...rows]);
}

function rowsOf(set: LimitSet): readonly LimitRow[] {
  return set.limits.map((limit) => ({ ...limit, owner: ownerText(set) }));
}

function ownerText({ of, team, user }: LimitSet): string {
  const ofTeam = team === undefined ? (of === "server" ? "server" : "every team") : `team ${team}`;
  return user === undefined ? ofTeam : user === "*" ? `${ofTeam}, every user` : `${ofTeam}, user ${user}`;
}
