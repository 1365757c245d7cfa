import type { LimitsOf } from "#client/limits.ts";
import { apiClient } from "../api-client.ts";
import { UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import { printed } from "../print/listing.ts";
import type { WordAction } from "../word-action.ts";
import { limitsTable } from "./list-limits.ts";

export const setLimits: WordAction = {
  flags: ["team", "user", "every-team", "server", "output"],
  run: async (context, words, args) => {
    if (words.length === 0) throw new UsageError("limits set needs NAME=NUMBER, such as pods=1000; agentbox limits ls shows the names");
    const [whose, change] = [whoseOf(args), Object.fromEntries(words.map(changeIn))];
    const set = await (await apiClient(context)).limits.set(whose, change);
    if (!printed(context, args, set)) context.stdout.write(limitsTable([set]));
    return 0;
  },
};

function whoseOf(args: Arguments): LimitsOf {
  const [team, user] = [args.text("team"), args.text("user")];
  const given = [args.has("server"), args.has("every-team"), team !== undefined].filter(Boolean).length;
  if (given !== 1) throw new UsageError("limits set needs one of --server, --every-team and --team TEAM");
  if (user !== undefined && team === undefined) throw new UsageError("--user needs --team TEAM: users belong to a team");
  if (team !== undefined) return { team, ...(user !== undefined && { user }) };
  return args.has("server") ? "server" : "teams";
}

function changeIn(word: string): readonly [string, number | null] {
  const [, name, value] = /^(\w+)=(\d{1,10}|default)$/.exec(word) ?? [];
  if (name === undefined || value === undefined) {
    throw new UsageError(`limits set needs NAME=NUMBER or NAME=default, not ${JSON.stringify(word)}`);
  }
  return [name, value === "default" ? null : Number(value)];
}
