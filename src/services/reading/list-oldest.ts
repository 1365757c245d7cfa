/** Live sandboxes, oldest first, page by page. Those that have ended are kept newest first, and are in no such list. */
import { checkedQuery } from "#store/checked-query.ts";
import { HistoryError } from "#store/history-error.ts";
import { matchesFilter } from "#store/matches-filter.ts";
import { decodeCursor, encodeCursor, type RecordKey } from "#store/record-key.ts";
import { isTerminalStatus } from "#model/sandbox-record.ts";
import { type Caller, scopeOf } from "#services/caller.ts";
import type { LiveSandboxes } from "./live-sandboxes.ts";
import type { ListSandboxes, SandboxPage, SandboxView } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { asServiceError } from "#services/service-failure.ts";

export interface OldestQuery extends Omit<ListSandboxes, "order" | "limit" | "cursor"> {
  readonly limit: number;
  readonly cursor: string | undefined;
}

/** So many are looked at for a filter that few of them fit; then the page is short. */
const maxExamined = 10_000;
/** A cursor of one order means nothing in the other. */
const cursorPrefix = "asc.";

export function listOldest(live: Pick<LiveSandboxes, "oldestFirst">, caller: Caller, wanted: OldestQuery): SandboxPage {
  const { limit, cursor, ...filter } = wanted;
  if (filter.status === undefined || filter.status.some(isTerminalStatus)) {
    throw new ServiceError("invalid_request", "order: oldest first works only for live sandboxes: set status to live statuses", {
      field: "order",
    });
  }
  const after = cursor === undefined ? undefined : keyIn(cursor);
  if (caller.role === "tenant" && caller.team === "") return { sandboxes: [] };
  const scope = scopeOf(caller);
  const query = checked({ ...filter, scope, limit });
  const sandboxes: SandboxView[] = [];
  let last: RecordKey | undefined;
  let examined = 0;
  for (const view of live.oldestFirst({ scope, after, pool: query.pool })) {
    if (last !== undefined && examined++ === maxExamined) return { sandboxes, next: cursorOf(last) };
    last = view;
    if (!matchesFilter(view, query)) continue;
    const full = sandboxes.at(limit - 1);
    if (full !== undefined) return { sandboxes, next: cursorOf(full) };
    sandboxes.push(view);
  }
  return { sandboxes };
}

function checked(query: Parameters<typeof checkedQuery>[0]): ReturnType<typeof checkedQuery> {
  try {
    return checkedQuery(query);
  } catch (error) {
    throw asServiceError(error);
  }
}

function cursorOf(key: RecordKey): string {
  return `${cursorPrefix}${encodeCursor(key)}`;
}

function keyIn(cursor: string): RecordKey {
  try {
    if (cursor.startsWith(cursorPrefix)) return decodeCursor(cursor.slice(cursorPrefix.length));
  } catch (error) {
    if (!(error instanceof HistoryError)) throw error;
  }
  throw new ServiceError("invalid_request", "the cursor is not from a list in this order", { field: "cursor" });
}
