import type { DatabaseSync } from "node:sqlite";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { conditionsOf, type Dialect } from "../conditions.ts";
import type { HistoryPage, HistoryQuery } from "../history-store.ts";
import { keyOf, type RecordKey } from "../record-key.ts";
import { parseRecord } from "./put.ts";
import { keyAtPlace, newestFirst, type Window, windowsOf, withinWindow } from "./walk.ts";

export interface SearchLimits {
  /** Rows that one statement examines. */
  readonly windowRows: number;
  /** Statements after which a search gives what it has, and the place where to go on. */
  readonly maxWindows: number;
}

export const defaultLimits: SearchLimits = { windowRows: 500, maxWindows: 100 };

export const dialect: Dialect = {
  time: (text) => Date.parse(text),
  // One condition however many pairs: SQLite turns each EXISTS into a join, and 32 of them cost its planner most of a second.
  pairs: (metadata) => {
    const pairs = Object.entries(metadata);
    const sql = `NOT EXISTS (SELECT 1 FROM (VALUES ${pairs.map(() => "(?, ?)").join(", ")}) w WHERE NOT EXISTS (
        SELECT 1 FROM history_metadata p
        WHERE p.key = w.column1 AND p.value = w.column2 AND p.claimed_at = h.claimed_at AND p.sandbox_id = h.sandbox_id))`;
    return [{ sql, params: pairs.flat() }];
  },
};

export async function search(db: DatabaseSync, query: HistoryQuery, { windowRows, maxWindows }: SearchLimits): Promise<HistoryPage> {
  const records: SandboxRecord[] = [];
  let windows = 0;
  for await (const window of windowsOf(db, query, windowRows)) {
    records.push(...readRecords(db, window, query, query.limit + 1 - records.length));
    const full = records.at(query.limit - 1);
    if (full !== undefined && records.length > query.limit) return page(records.slice(0, query.limit), keyOf(full));
    windows++;
    if (!window.isLast && windows >= maxWindows) return page(records, keyAtPlace(window.to));
  }
  return page(records);
}

function page(records: readonly SandboxRecord[], next?: RecordKey): HistoryPage {
  return next === undefined ? { records } : { records, next };
}

function readRecords(db: DatabaseSync, window: Window, query: HistoryQuery, count: number): SandboxRecord[] {
  const within = withinWindow(window);
  const filter = conditionsOf(query, dialect);
  const rows = db
    .prepare(
      `SELECT r.record AS record FROM ${window.walk.rows} CROSS JOIN history_record r ON r.id = h.id
       WHERE ${within.sql} AND ${filter.sql} ${newestFirst(window.walk)} LIMIT ?`,
    )
    .all(...within.params, ...filter.params, count);
  return rows.map((row) => deepFreeze(parseRecord(row["record"])));
}
