import type { DatabaseSync } from "node:sqlite";
import type { PruneRequest } from "../history-store.ts";
import { usageWriter } from "../usage/sqlite-usage.ts";
import { usageShares } from "../usage/usage-shares.ts";
import { inTransaction } from "./connection.ts";
import { parseRecord, type RecordWriter } from "./put.ts";

/** What was not counted yet is counted with it. */
export function prune(db: DatabaseSync, writer: RecordWriter, { olderThan, limit }: PruneRequest): number {
  const addUsage = usageWriter(db);
  return inTransaction(db, () => {
    const rows = db
      .prepare(
        `SELECT id, record, counted, ended_at FROM history INDEXED BY history_by_age JOIN history_record USING (id)
         WHERE kept_since < ? ORDER BY kept_since LIMIT ?`,
      )
      .all(Date.parse(olderThan), limit);
    addUsage(rows.filter(isUncounted).flatMap((row) => usageShares(parseRecord(row["record"]))));
    for (const row of rows) writer.remove({ id: Number(row["id"]), record: parseRecord(row["record"]) });
    return rows.length;
  });
}

function isUncounted(row: Readonly<Record<string, unknown>>): boolean {
  return row["counted"] === 0 && row["ended_at"] !== null;
}
