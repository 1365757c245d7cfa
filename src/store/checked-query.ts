/** A query as the databases take it: times in one form, texts that they can hold, and nothing that would reach past its scope. */
import { withoutUndefined } from "#lib/without-undefined.ts";
import { storable, storableTexts } from "./checked-record.ts";
import { HistoryError } from "./history-error.ts";
import type { HistoryFilter, HistoryQuery, HistoryScope, StatisticsQuery } from "./history-store.ts";
import { isSandboxId, normalTime, type RecordKey } from "./record-key.ts";

const maxLimit = 1000;
/** More pairs than a query needs, and few enough for one statement. */
const maxPairs = 32;
const timeFields = ["claimedAfter", "claimedBefore", "endedAfter", "endedBefore"] as const;

/** Throws HistoryError `invalid`. */
export function checkedQuery(query: HistoryQuery): HistoryQuery {
  const { limit, after } = query;
  checkLimit(limit);
  return { ...checkedFilter(query), limit, ...(after === undefined ? {} : { after: checkedKey(after) }) };
}

export function checkedStatisticsQuery(query: StatisticsQuery): StatisticsQuery {
  return { ...checkedFilter(query), claimedAfter: checkedTime("claimedAfter", query.claimedAfter) };
}

/** An empty team is no tenant; records without an owner are for admins. */
export function checkedScope(scope: HistoryScope): HistoryScope {
  if (scope.kind === "tenant" && scope.team === "") throw new HistoryError("invalid", "the scope of a tenant must name its team");
  if (scope.kind === "admin") return scope;
  return { kind: "tenant", team: storable(scope.team), ...withoutUndefined({ user: text(scope.user) }) };
}

export function checkLimit(limit: number): void {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > maxLimit) {
    throw new HistoryError("invalid", `limit must be a whole number from 1 to ${maxLimit}, not ${limit}`);
  }
}

export function checkedTime(field: string, value: string): string {
  const normal = normalTime(value);
  if (normal !== undefined) return normal;
  throw new HistoryError("invalid", `${field} must be a time such as 2026-01-31T12:00:00.000Z, not ${JSON.stringify(value)}`);
}

function checkedFilter(filter: HistoryFilter): HistoryFilter {
  const pairs = Object.keys(filter.metadata ?? {}).length;
  if (pairs > maxPairs) throw new HistoryError("invalid", `metadata may name at most ${maxPairs} pairs, not ${pairs}`);
  const times = timeFields.map((field) => [field, filter[field] === undefined ? undefined : checkedTime(field, filter[field])] as const);
  return {
    scope: checkedScope(filter.scope),
    ...withoutUndefined({
      pool: text(filter.pool),
      env: text(filter.env),
      template: text(filter.template),
      status: filter.status,
      metadata: filter.metadata === undefined ? undefined : storableTexts(filter.metadata),
      idPrefix: text(filter.idPrefix),
    }),
    ...withoutUndefined(Object.fromEntries(times)),
  };
}

/** As it would have been stored. */
function text(value: string | undefined): string | undefined {
  return value === undefined ? undefined : storable(value);
}

function checkedKey({ claimedAt, sandboxId }: RecordKey): RecordKey {
  if (!isSandboxId(sandboxId)) throw new HistoryError("invalid", "after.sandboxId must be 1 to 253 visible ASCII characters");
  return { claimedAt: checkedTime("after.claimedAt", claimedAt), sandboxId };
}
