import type { DatabaseSync } from "node:sqlite";
import type { PruneRequest } from "../history-store.ts";
import { inTransaction } from "./connection.ts";
import { parseRecord, type RecordWriter } from "./put.ts";

export function prune(db: DatabaseSync, writer: RecordWriter, { olderThan, limit }: PruneRequest): number {
  return inTransaction(db, () => {
    const rows = db
      .prepare(
        `SELECT id, record FROM history INDEXED BY history_by_age JOIN history_record USING (id)
         WHERE kept_since < ? ORDER BY kept_since LIMIT ?`,
      )
      .all(Date.parse(olderThan), limit);
    for (const row of rows) writer.remove({ id: Number(row["id"]), record: parseRecord(row["record"]) });
    return rows.length;
  });
}
