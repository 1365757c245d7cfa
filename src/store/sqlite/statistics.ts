import type { DatabaseSync } from "node:sqlite";
import { conditionsOf } from "../conditions.ts";
import { sortedCounts } from "../count-by.ts";
import type { HistoryStatistics, StatisticsQuery } from "../history-store.ts";
import { dialect } from "./search.ts";
import { type Window, windowsOf, withinWindow } from "./walk.ts";

/** Counts window by window, so that others run in between; each window is counted inside SQLite. */
export async function statistics(db: DatabaseSync, query: StatisticsQuery, windowRows: number): Promise<HistoryStatistics> {
  const counts = { byStatus: new Map<string, number>(), byPool: new Map<string, number>(), byDay: new Map<string, number>() };
  let total = 0;
  for await (const window of windowsOf(db, query, windowRows)) {
    for (const row of countWindow(db, window, query)) {
      total += Number(row["n"]);
      for (const by of ["byStatus", "byPool", "byDay"] as const) {
        const key = String(row[by]);
        counts[by].set(key, (counts[by].get(key) ?? 0) + Number(row["n"]));
      }
    }
  }
  return { total, byStatus: sortedCounts(counts.byStatus), byPool: sortedCounts(counts.byPool), byDay: sortedCounts(counts.byDay) };
}

function countWindow(db: DatabaseSync, window: Window, query: StatisticsQuery): Record<string, unknown>[] {
  const within = withinWindow(window);
  const filter = conditionsOf(query, dialect);
  return db
    .prepare(
      `SELECT h.status AS byStatus, h.pool AS byPool, date(h.claimed_at / 1000, 'unixepoch') AS byDay, count(*) AS n
       FROM ${window.walk.rows} WHERE ${within.sql} AND ${filter.sql} GROUP BY 1, 2, 3`,
    )
    .all(...within.params, ...filter.params);
}
