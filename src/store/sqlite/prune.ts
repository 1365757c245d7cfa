import type { DatabaseSync } from "node:sqlite";
import type { PruneRequest } from "../history-store.ts";
import { inTransaction } from "./connection.ts";
import { parseRecord, type RecordWriter } from "./put.ts";

export function prune(db: DatabaseSync, writer: RecordWriter, { olderThan, limit }: PruneRequest): number {
  return inTransaction(db, () => {
    const rows = db
      .prepare("SELECT sandbox_id, record FROM history INDEXED BY history_by_age WHERE kept_since < ? ORDER BY kept_since LIMIT ?")
      .all(olderThan, limit);
    const remove = db.prepare("DELETE FROM history WHERE sandbox_id = ?");
    for (const row of rows) {
      writer.removePairs(parseRecord(row["record"]));
      remove.run(String(row["sandbox_id"]));
    }
    return rows.length;
  });
}
