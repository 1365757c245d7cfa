import type { UsageQuery, UsageRow } from "#client/reports.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { parseDuration } from "#model/duration.ts";
import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import { UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import { csvFlag, printCsv } from "../print/csv-output.ts";
import { type ListColumn, listingFlags, outputOf, programText, showListing } from "../print/listing.ts";
import { spanOf } from "../sandbox/spans.ts";

const { watch: _, ...flags } = listingFlags;

export const usage: Command = {
  usage: ["usage [--since DURATION | --from TIME] [--to TIME] [--step STEP] [--by OWNER] [--team TEAM] [--user USER] [--csv] [-o FORMAT]"],
  about:
    "Shows usage over time, by team or user: creates, hours of sandboxes, and these hours times the cores and GiB of memory that the sandboxes were given. " +
    "Live sandboxes count until now. Hours are kept for 400 days.",
  examples: [
    { does: "The last 30 days, by team and day", line: "agentbox usage" },
    { does: "One row for each user of a team", line: "agentbox usage --team red --by user --step all" },
    { does: "A month, for a spreadsheet", line: "agentbox usage --from 2026-01-01 --to 2026-02-01 --by user --csv" },
  ],
  flags: {
    since: { value: "DURATION", help: "Only this last time span (default: 720h, and 24h by hour)" },
    from: { value: "TIME", help: "From this time on, such as 2026-01-31 or 2026-01-31T12:00:00Z" },
    to: { value: "TIME", help: "Up to this time (default: now)" },
    step: { value: "STEP", choices: ["hour", "day", "all"], help: "A row for each hour or day, or one for all of the time (default: day)" },
    by: { value: "OWNER", choices: ["team", "user"], help: "A row for each team or user (default: team)" },
    team: { value: "TEAM", help: "Only this team" },
    user: { value: "USER", help: "Only this user" },
    ...csvFlag,
    ...flags,
  },
  run: async (context, args) => {
    if (args.words.length > 0) throw new UsageError(`usage takes only flags: unexpected ${args.words.join(" ")}`);
    const { reports } = await apiClient(context);
    const query = queryOf(context, args);
    if (args.isOn("csv")) return await printCsv(context, await reports.usageCsv(query, context.signal));
    const report = await reports.usage(query, context.signal);
    const forPrograms = programText(outputOf(args), report);
    if (forPrograms !== undefined) {
      context.stdout.write(forPrograms);
      return 0;
    }
    const columns = [...(report.step === "all" ? [] : [start]), owner, ...amounts];
    return await showListing(context, args, { load: async () => report.rows, nameOf: rowName, columns, empty: "No usage" });
  },
};

function queryOf({ clock }: CliContext, args: Arguments): UsageQuery {
  const since = spanOf(args, "since");
  if (since !== undefined && args.has("from")) throw new UsageError("give --since or --from, not both");
  return withoutUndefined({
    from: since === undefined ? timeOf(args, "from") : new Date(clock.now() - parseDuration(since)).toISOString(),
    to: timeOf(args, "to"),
    // The server checks both, and names the choices.
    step: args.text("step") as UsageQuery["step"],
    by: args.text("by") as UsageQuery["by"],
    team: args.text("team"),
    user: args.text("user"),
  });
}

function timeOf(args: Arguments, flag: string): string | undefined {
  const text = args.text(flag);
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms))
    throw new UsageError(`--${flag} must be a time such as 2026-01-31 or 2026-01-31T12:00:00Z, not ${JSON.stringify(text)}`);
  return new Date(ms).toISOString();
}

function rowName({ start: at, team, user }: UsageRow): string {
  return [at, team, ...(user === undefined ? [] : [user])].join("/");
}

const start: ListColumn<UsageRow> = {
  name: "START",
  cell: ({ start: at }) => (at.endsWith("T00:00:00.000Z") ? at.slice(0, 10) : at.slice(0, 16)),
};
const owner: ListColumn<UsageRow> = {
  name: "OWNER",
  cell: ({ team, user = "" }) => [team, user].filter((part) => part !== "").join("/") || "-",
};
const hours = (seconds: number): string => (seconds / 3600).toFixed(2);
const amounts: readonly ListColumn<UsageRow>[] = [
  { name: "CREATES", cell: ({ creates }) => creates },
  { name: "HOURS", cell: ({ sandboxSeconds }) => hours(sandboxSeconds) },
  { name: "CORE-HOURS", cell: ({ cpuSeconds }) => hours(cpuSeconds) },
  { name: "GIB-HOURS", cell: ({ memoryGibSeconds }) => hours(memoryGibSeconds) },
];
