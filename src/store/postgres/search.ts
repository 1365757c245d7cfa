/** PostgreSQL weighs an order against a filter by itself, and ends a search that would take too long. */
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { allOf, type Condition, conditionsOf, type Dialect, timeConditions } from "../conditions.ts";
import type { HistoryFilter, HistoryPage, HistoryQuery } from "../history-store.ts";
import { keyOf } from "../record-key.ts";
import type { Connections } from "./connection.ts";

export async function search(connections: Connections, query: HistoryQuery): Promise<HistoryPage> {
  const { sql, params } = filterOf(query);
  const { after, limit } = query;
  const behind = after === undefined ? "" : "AND (h.claimed_at, h.sandbox_id) < (?, ?)";
  const rows = await connections.query(
    numbered(`SELECT h.record FROM agentbox_history h WHERE ${sql} ${behind} ORDER BY h.claimed_at DESC, h.sandbox_id DESC LIMIT ?`),
    [...params, ...(after === undefined ? [] : [after.claimedAt, after.sandboxId]), limit + 1],
  );
  const records = rows.slice(0, limit).map((row) => deepFreeze(row["record"] as SandboxRecord)); // written by put.ts
  const last = records.at(-1);
  return last === undefined || rows.length <= limit ? { records } : { records, next: keyOf(last) };
}

const dialect: Dialect = {
  time: (text) => text,
  pairs: (metadata) => [{ sql: "h.metadata @> ?", params: [JSON.stringify(metadata)] }],
};

/** The whole filter, times of the claim included. */
export function filterOf(filter: HistoryFilter): Condition {
  return allOf([conditionsOf(filter, dialect), ...timeConditions("h.claimed_at", filter.claimedAfter, filter.claimedBefore, dialect)]);
}

/** `?` as `$1`, `$2`, … No text of ours has a question mark of its own. */
export function numbered(sql: string): string {
  let count = 0;
  return sql.replaceAll("?", () => `$${++count}`);
}
