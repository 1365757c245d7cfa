/** Sandboxes by filters, for commands that list or change several. */
import type { Sandbox, SandboxQuery } from "#client/sandbox-types.ts";
import type { SandboxesClient } from "#client/sandboxes.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { liveSandboxStatuses, type SandboxRecordStatus, sandboxRecordStatuses } from "#model/sandbox-record.ts";
import type { CliContext } from "../context.ts";
import type { Arguments, Flags } from "../flags.ts";

/** Page size of the API. */
const largestPage = 1000;

export const filterFlags: Flags = {
  pool: { value: "POOL", help: "Only sandboxes of this pool" },
  template: { value: "TEMPLATE", help: "Only sandboxes of this template" },
  status: { value: "STATUS", choices: sandboxRecordStatuses, many: true, help: "Only sandboxes with this status" },
  metadata: { short: "m", value: "KEY=VALUE", many: true, help: "Only sandboxes with this metadata" },
  prefix: { value: "TEXT", help: "Only sandboxes whose ID begins with this text" },
};

export function sandboxQuery(args: Arguments): SandboxQuery {
  // The flag accepts only these values.
  const chosen = args.list("status") as readonly SandboxRecordStatus[];
  const status = chosen.length > 0 ? chosen : args.isOn("all") ? undefined : liveSandboxStatuses;
  const metadata = args.has("metadata") ? args.list("metadata") : undefined;
  const [poolName, templateName, idPrefix] = [args.text("pool"), args.text("template"), args.text("prefix")];
  return withoutUndefined({ status, metadata, poolName, templateName, idPrefix });
}

interface Collected {
  readonly found: readonly Sandbox[];
  /** True if there are more. */
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
