import type { PruneRequest } from "../history-store.ts";
import type { Connections } from "./connection.ts";

/** Rows that another process is just about to delete or merge are left to the next step. */
export async function prune(connections: Connections, { olderThan, limit }: PruneRequest): Promise<number> {
  const gone = await connections.query(
    `DELETE FROM agentbox_history WHERE sandbox_id IN (
       SELECT sandbox_id FROM agentbox_history WHERE kept_since < $1 ORDER BY kept_since LIMIT $2 FOR UPDATE SKIP LOCKED
     ) RETURNING 1`,
    [olderThan, limit],
  );
  return gone.length;
}
