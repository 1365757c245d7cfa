import { sortedCounts } from "../count-by.ts";
import type { HistoryStatistics, StatisticsQuery } from "../history-store.ts";
import type { Connections, Row } from "./connection.ts";
import { filterOf, numbered } from "./search.ts";

/** Four countings in one pass. */
export async function statistics(connections: Connections, query: StatisticsQuery): Promise<HistoryStatistics> {
  const { sql, params } = filterOf(query);
  const rows = await connections.query(
    numbered(
      `SELECT status, pool, day, count(*) AS n
       FROM (SELECT h.status, h.pool, to_char(h.claimed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day FROM agentbox_history h WHERE ${sql}) AS s
       GROUP BY GROUPING SETS ((status), (pool), (day), ())`,
    ),
    params,
  );
  const countsOf = (column: string) => sortedCounts(rows.flatMap((row) => count(row, column)));
  return {
    total: Number(rows.find((row) => row["status"] === null && row["pool"] === null && row["day"] === null)?.["n"] ?? 0),
    byStatus: countsOf("status"),
    byPool: countsOf("pool"),
    byDay: countsOf("day"),
  };
}

/** Of the three columns, a row has only the one that it counts by. */
function count(row: Row, column: string): [string, number][] {
  return typeof row[column] === "string" ? [[row[column], Number(row["n"])]] : [];
}
