/** The filter of a history query as a function: for live sandboxes, which are in no database. Means the same as the SQL does. */
import type { SandboxRecord } from "#model/sandbox-record.ts";
import type { HistoryFilter, HistoryScope } from "./history-store.ts";

export function isInScope(record: SandboxRecord, scope: HistoryScope): boolean {
  if (scope.kind === "admin") return true;
  return record.team === scope.team && (scope.user === undefined || record.user === scope.user);
}

export function matchesFilter(record: SandboxRecord, filter: HistoryFilter): boolean {
  return (
    isInScope(record, filter.scope) &&
    hasNames(record, filter) &&
    (filter.status === undefined || filter.status.includes(record.status)) &&
    isWithin(record.claimedAt, filter.claimedAfter, filter.claimedBefore) &&
    isWithin(record.terminatedAt, filter.endedAfter, filter.endedBefore) &&
    Object.entries(filter.metadata ?? {}).every(([key, value]) => Object.hasOwn(record.metadata, key) && record.metadata[key] === value)
  );
}

function hasNames(record: SandboxRecord, { pool, env, template, idPrefix }: HistoryFilter): boolean {
  return (
    (pool === undefined || record.poolName === pool) &&
    (env === undefined || record.envName === env) &&
    (template === undefined || record.templateName === template) &&
    record.sandboxId.startsWith(idPrefix ?? "")
  );
}

function isWithin(time: string | undefined, after: string | undefined, before: string | undefined): boolean {
  if (after === undefined && before === undefined) return true;
  return time !== undefined && (after === undefined || time >= after) && (before === undefined || time < before);
}
