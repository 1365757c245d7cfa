/** Sandboxes by filters, for the commands that list some or act on several. */
import type { Sandbox, SandboxQuery } from "#client/sandbox-types.ts";
import type { SandboxesClient } from "#client/sandboxes.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { liveSandboxStatuses, type SandboxRecordStatus, sandboxRecordStatuses } from "#model/sandbox-record.ts";
import type { CliContext } from "../context.ts";
import type { Arguments, Flags } from "../flags.ts";

/** What the API gives at a time. */
const largestPage = 1000;

export const filterFlags: Flags = {
  pool: { value: "POOL", help: "Only of this pool" },
  template: { value: "TEMPLATE", help: "Only of this template" },
  status: { value: "STATUS", choices: sandboxRecordStatuses, many: true, help: "Only with this status" },
  metadata: { short: "m", value: "KEY=VALUE", many: true, help: "Only those of which this is remembered" },
  prefix: { value: "TEXT", help: "Only those whose ID begins so" },
};

export function sandboxQuery(args: Arguments): SandboxQuery {
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

export async function collectSandboxes(
  { signal }: CliContext,
  sandboxes: SandboxesClient,
  query: SandboxQuery,
  limit: number,
): Promise<Collected> {
  const found: Sandbox[] = [];
  for (let cursor: string | undefined; ;) {
    const rest = Math.min(largestPage, limit - found.length);
    const page = await sandboxes.page({ ...query, limit: rest, ...withoutUndefined({ cursor }) }, signal);
    found.push(...page.sandboxes);
    cursor = page.next;
    if (cursor === undefined || found.length >= limit) return { found, more: cursor !== undefined };
  }
}
