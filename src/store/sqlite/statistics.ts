import type { DatabaseSync } from "node:sqlite";
import { conditionsOf } from "../conditions.ts";
import { sortedCounts } from "../count-by.ts";
import type { HistoryStatistics, StatisticsQuery } from "../history-store.ts";
import { pairConditions, readWindow, type SearchLimits, windowsOf } from "./search.ts";

/** Counts window by window, so that others run in between; each window is counted inside SQLite. */
export async function statistics(db: DatabaseSync, query: StatisticsQuery, limits: SearchLimits): Promise<HistoryStatistics> {
  const counts = { byStatus: new Map<string, number>(), byPool: new Map<string, number>(), byDay: new Map<string, number>() };
  const { sql, params } = conditionsOf(query, pairConditions);
  const grouped = { sql: `${sql} GROUP BY 1, 2, 3`, params };
  const what = "h.status AS byStatus, h.pool AS byPool, substr(h.claimed_at, 1, 10) AS byDay, count(*) AS n";
  let total = 0;
  for await (const { window } of windowsOf(db, query, limits)) {
    for (const row of readWindow(db, window, what, grouped)) {
      total += Number(row["n"]);
      for (const by of ["byStatus", "byPool", "byDay"] as const) {
        const key = String(row[by]);
        counts[by].set(key, (counts[by].get(key) ?? 0) + Number(row["n"]));
      }
    }
  }
  return { total, byStatus: sortedCounts(counts.byStatus), byPool: sortedCounts(counts.byPool), byDay: sortedCounts(counts.byDay) };
}
