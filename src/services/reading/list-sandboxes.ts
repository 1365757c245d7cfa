/** Live and ended sandboxes in one list, page by page (store/join-live.ts); `list-oldest.ts` is the other way round. */
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { HistoryError } from "#store/history-error.ts";
import { listSandboxes as joinedList } from "#store/join-live.ts";
import { decodeCursor, encodeCursor, normalTime, type RecordKey } from "#store/record-key.ts";
import { type Caller, scopeOf } from "#services/caller.ts";
import { listOldest } from "./list-oldest.ts";
import type { LiveSandboxes } from "./live-sandboxes.ts";
import type { ListSandboxes, SandboxPage } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { translated } from "#services/service-failure.ts";

export interface ListDeps {
  readonly live: Pick<LiveSandboxes, "newestFirst" | "oldestFirst">;
  readonly history: Pick<HistoryStore, "search">;
}

const defaultLimit = 100;
const maxLimit = 1000;
const timeFields = ["claimedAfter", "claimedBefore", "endedAfter", "endedBefore"] as const;

export async function listSandboxes({ live, history }: ListDeps, caller: Caller, query: ListSandboxes): Promise<SandboxPage> {
  const { limit = defaultLimit, cursor, order, ...filter } = query;
  checkLimit(limit);
  for (const field of timeFields) checkTime(field, query[field]);
  if (order === "oldest") return listOldest(live, caller, { ...filter, limit, cursor });
  const after = cursor === undefined ? undefined : keyIn(cursor);
  if (caller.role === "tenant" && caller.team === "") return { sandboxes: [] };
  const scope = scopeOf(caller);
  const page = await translated(
    joinedList((place) => live.newestFirst({ scope, after: place, pool: query.pool }), history, {
      scope,
      limit,
      ...filter,
      ...withoutUndefined({ after }),
    }),
  );
  return { sandboxes: page.records, ...(page.next === undefined ? {} : { next: encodeCursor(page.next) }) };
}

function checkLimit(limit: number): void {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= maxLimit) return;
  throw new ServiceError("invalid_request", `limit must be a whole number from 1 to ${maxLimit}, not ${limit}`, { field: "limit" });
}

function checkTime(field: string, value: string | undefined): void {
  if (value === undefined || normalTime(value) !== undefined) return;
  const message = `${field} must be a time such as 2026-01-31T12:00:00Z, not ${JSON.stringify(value)}`;
  throw new ServiceError("invalid_request", message, { field });
}

function keyIn(cursor: string): RecordKey {
  try {
    return decodeCursor(cursor);
  } catch (error) {
    if (!(error instanceof HistoryError)) throw error;
    throw new ServiceError("invalid_request", error.message, { field: "cursor", cause: error });
  }
}
