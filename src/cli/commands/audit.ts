import type { AuditEntry, AuditQuery, ReportsClient } from "#client/reports.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { parseDuration } from "#model/duration.ts";
import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import { UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import { csvFlag, printCsv } from "../print/csv-output.ts";
import { age } from "../print/human-duration.ts";
import { type ListColumn, listingFlags, showListing } from "../print/listing.ts";
import { spanOf } from "../sandbox/spans.ts";

const defaultLimit = 100;
const { watch: _, ...flags } = listingFlags;

export const audit: Command = {
  usage: ["audit [--since DURATION] [--team TEAM] [--user USER] [--key ID] [--target NAME] [--result RESULT] [--csv] [-o FORMAT]"],
  about:
    "Shows the audit log, newest first: every request to the API that may have changed something, with its caller, its object, its address and its result. " +
    "A tenant key sees what was done as its team or user, an admin key everything.",
  examples: [
    { does: "Show the newest entries", line: "agentbox audit" },
    { does: "Who ended this sandbox", line: "agentbox audit --target ID" },
    { does: "What a key did today", line: "agentbox audit --key ID --since 24h --limit 0" },
    { does: "Requests that were refused", line: "agentbox audit --result refused -o wide" },
    { does: "Export everything", line: "agentbox audit --csv > audit.csv" },
  ],
  flags: {
    since: { value: "DURATION", help: "Only this last time span, such as 24h" },
    team: { value: "TEAM", help: "Only requests of this team" },
    user: { value: "USER", help: "Only requests of this user" },
    key: { value: "ID", help: "Only requests with this key" },
    action: { value: "ACTION", help: "Only this method and route, such as 'DELETE /v1/sandboxes/:sandboxId'" },
    target: { value: "NAME", help: "Only requests about this object, such as a sandbox id" },
    result: { value: "RESULT", choices: ["ok", "refused", "failed"], help: "Only successful, refused (4xx) or failed (5xx) requests" },
    limit: { value: "NUMBER", help: `Maximum number; 0: all (default: ${defaultLimit})` },
    ...csvFlag,
    ...flags,
  },
  run: async (context, args) => {
    if (args.words.length > 0) throw new UsageError(`audit takes only flags: unexpected ${args.words.join(" ")}`);
    const limit = args.number("limit") ?? defaultLimit;
    if (limit < 0) throw new UsageError(`--limit must be a number of at least 0, not ${limit}`);
    const { reports } = await apiClient(context);
    const query = queryOf(context, args);
    if (args.isOn("csv")) return await printCsv(context, await reports.auditCsv(query, context.signal));
    let more = false;
    const load = async (): Promise<readonly AuditEntry[]> => {
      const found = await collect(context, reports, query, limit === 0 ? Infinity : limit);
      more = found.more;
      return found.entries;
    };
    await showListing(context, args, { load, nameOf: ({ id }) => id, columns, empty: "No entries" });
    if (more) context.stderr.write(`There are more than ${limit}: --limit 0 shows all\n`);
    return 0;
  },
};

function queryOf({ clock }: CliContext, args: Arguments): AuditQuery {
  const since = spanOf(args, "since");
  return withoutUndefined({
    after: since === undefined ? undefined : new Date(clock.now() - parseDuration(since)).toISOString(),
    team: args.text("team"),
    user: args.text("user"),
    keyId: args.text("key"),
    action: args.text("action"),
    target: args.text("target"),
    // The server checks it, and names the choices.
    result: args.text("result") as AuditQuery["result"],
  });
}

interface Collected {
  readonly entries: readonly AuditEntry[];
  readonly more: boolean;
}

async function collect({ signal }: CliContext, reports: ReportsClient, query: AuditQuery, limit: number): Promise<Collected> {
  const entries: AuditEntry[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await reports.audit({ ...query, limit: Math.min(1000, limit - entries.length), ...withoutUndefined({ cursor }) }, signal);
    entries.push(...page.entries);
    if (page.next === undefined || entries.length >= limit) return { entries, more: page.next !== undefined };
    cursor = page.next;
  }
}

const columns: readonly ListColumn<AuditEntry>[] = [
  { name: "AGE", cell: ({ at }, now) => age(at, now) },
  { name: "CALLER", cell: callerText },
  { name: "ACTION", cell: ({ action }) => action },
  { name: "TARGET", cell: ({ target }) => target || "-" },
  { name: "STATUS", cell: ({ status, code }) => (code === undefined ? status : `${status} ${code}`) },
  { name: "FROM", cell: ({ address }) => address ?? "-" },
  { name: "KEY", wide: true, cell: ({ keyId }) => keyId ?? "-" },
  { name: "MS", wide: true, cell: ({ ms }) => ms },
  { name: "TIME", wide: true, cell: ({ at }) => at },
  { name: "REQUEST", wide: true, cell: ({ requestId }) => requestId },
];

/** An admin that acted as a team is shown with both. */
export function callerText({ role, team, user }: Pick<AuditEntry, "role" | "team" | "user">): string {
  const owner = [team, user].filter((part) => part !== "").join("/");
  if (role === "tenant") return owner;
  return owner === "" ? "admin" : `admin as ${owner}`;
}
