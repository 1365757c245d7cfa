import type { Sandbox, SandboxQuery } from "#client/sandbox-types.ts";
import type { SandboxesClient } from "#client/sandboxes.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { liveSandboxStatuses, type SandboxRecordStatus, sandboxRecordStatuses } from "#model/sandbox-record.ts";
import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import { UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import { yamlText } from "../print/yaml-text.ts";
import { sandboxTable } from "../sandbox/sandbox-columns.ts";

const defaultLimit = 100;
/** What the API gives at a time. */
const largestPage = 1000;

export const ls: Command = {
  usage: ["ls [-a] [--pool POOL] [--status STATUS] [--metadata KEY=VALUE] [--limit NUMBER] [-o FORMAT]"],
  about: "Shows sandboxes, newest first: the live ones, or with -a or --status also those that have ended.",
  examples: [
    { does: "What runs", line: "agentbox ls" },
    { does: "What failed", line: "agentbox ls --status Failed -o wide" },
    { does: "All that was ever made for a ticket", line: "agentbox ls -a --metadata ticket=42 --limit 0" },
  ],
  flags: {
    all: { short: "a", help: "Also those that have ended" },
    pool: { value: "POOL", help: "Only of this pool" },
    template: { value: "TEMPLATE", help: "Only of this template" },
    status: { value: "STATUS", choices: sandboxRecordStatuses, many: true, help: "Only with this status" },
    metadata: { short: "m", value: "KEY=VALUE", many: true, help: "Only those of which this is remembered" },
    prefix: { value: "TEXT", help: "Only those whose ID begins so" },
    limit: { value: "NUMBER", help: `How many at most; 0: all (default: ${defaultLimit})` },
    output: { short: "o", value: "FORMAT", choices: ["table", "wide", "yaml", "json", "name"], help: "How they are shown" },
    "no-headers": { help: "Leave out the headers of tables" },
  },
  run: async (context, args) => {
    if (args.words.length > 0) throw new UsageError(`ls takes only flags: unexpected ${args.words.join(" ")}. See agentbox inspect ID`);
    const limit = args.number("limit") ?? defaultLimit;
    if (limit < 0) throw new UsageError(`--limit must be a number of at least 0, not ${limit}`);
    const { sandboxes } = await apiClient(context);
    const { found, more } = await collect(context, sandboxes, queryOf(args), limit === 0 ? Infinity : limit);
    show(context, args, found);
    if (more) context.stderr.write(`There are more than ${limit}: --limit 0 shows all\n`);
    return 0;
  },
};

function queryOf(args: Arguments): SandboxQuery {
  // The flag takes no others.
  const chosen = args.list("status") as readonly SandboxRecordStatus[];
  const status = chosen.length > 0 ? chosen : args.isOn("all") ? undefined : liveSandboxStatuses;
  const metadata = args.has("metadata") ? args.list("metadata") : undefined;
  const [poolName, templateName, idPrefix] = [args.text("pool"), args.text("template"), args.text("prefix")];
  return withoutUndefined({ status, metadata, poolName, templateName, idPrefix });
}

interface Collected {
  readonly found: readonly Sandbox[];
  /** There are others. */
  readonly more: boolean;
}

async function collect({ signal }: CliContext, sandboxes: SandboxesClient, query: SandboxQuery, limit: number): Promise<Collected> {
  const found: Sandbox[] = [];
  for (let cursor: string | undefined; ;) {
    const rest = Math.min(largestPage, limit - found.length);
    const page = await sandboxes.page({ ...query, limit: rest, ...withoutUndefined({ cursor }) }, signal);
    found.push(...page.sandboxes);
    cursor = page.next;
    if (cursor === undefined || found.length >= limit) return { found, more: cursor !== undefined };
  }
}

function show({ stdout, stderr, clock }: CliContext, args: Arguments, found: readonly Sandbox[]): void {
  const output = args.text("output") ?? "table";
  if (output === "json") stdout.write(`${JSON.stringify(found, null, 2)}\n`);
  else if (output === "yaml") stdout.write(yamlText(found));
  else if (output === "name") for (const { sandboxId } of found) stdout.write(`${sandboxId}\n`);
  else if (found.length === 0) stderr.write(args.isOn("all") ? "No sandboxes\n" : "No live sandboxes (ended ones: agentbox ls --all)\n");
  else stdout.write(sandboxTable(found, { wide: output === "wide", headers: !args.isOn("no-headers"), now: clock.now() }));
}
