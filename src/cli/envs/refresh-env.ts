import type { EnvRefresh } from "#client/envs.ts";
import { apiClient } from "../api-client.ts";
import { UsageError } from "../failure.ts";
import { TableText } from "../print/table-text.ts";
import type { WordAction } from "../word-action.ts";
import { printed } from "../print/listing.ts";
import { envAndMember } from "./env-words.ts";

export const refreshEnv: WordAction = {
  flags: ["namespace", "output", "dry-run"],
  run: async (context, words, args) => {
    const [word, ...more] = words;
    if (word === undefined || more.length > 0) throw new UsageError("envs refresh needs one Env, or ENV/MEMBER: agentbox envs refresh py");
    const { env, member } = envAndMember(word, args);
    const dryRun = args.isOn("dry-run");
    const refresh = await (await apiClient(context)).envs.refresh(env, { member, dryRun }, context.signal);
    if (!printed(context, args, refresh)) context.stdout.write(refreshText(refresh));
    return 0;
  },
};

const longest = 60;

function refreshText({ dryRun, members }: EnvRefresh): string {
  const changed = members.filter(({ changes }) => changes.length > 0);
  const same = members.length - changed.length;
  const rows = changed.flatMap(({ name, changes }) => changes.map(({ field, from, to }) => [name, field, valueText(from), valueText(to)]));
  const table = rows.length === 0 ? "" : new TableText().lay([["MEMBER", "FIELD", "FROM", "TO"], ...rows]);
  const upToDate = same === 0 ? "" : `${same} of ${members.length} members ${same === 1 ? "is" : "are"} up to date\n`;
  if (changed.length === 0) return upToDate === "" ? "No members to refresh\n" : upToDate;
  const end = dryRun ? "Nothing was changed (dry run)\n" : "Idle pods are being replaced; running sandboxes are not affected\n";
  return `${table}${upToDate}${end}`;
}

function valueText(value: unknown): string {
  if (value === undefined) return "-";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text;
}
