/** Logs of ended sandboxes in PostgreSQL. */
import type { HistoryScope } from "../history-store.ts";
import type { Connections } from "../postgres/connection.ts";
import { type LogStore, packed, unpacked } from "./log-store.ts";

export function postgresLogs(connections: Connections): LogStore {
  return {
    put: async ({ sandboxId, team, user, container, keptAt, truncated, text }) => {
      const { data, bytes } = await packed(text);
      await connections.query(
        `INSERT INTO agentbox_ended_log (sandbox_id, team, owner, container, kept_at, truncated, bytes, data)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (sandbox_id) DO UPDATE SET (team, owner, container, kept_at, truncated, bytes, data)
           = (excluded.team, excluded.owner, excluded.container, excluded.kept_at, excluded.truncated, excluded.bytes, excluded.data)`,
        [sandboxId, team, user, container, keptAt, truncated, bytes, data],
      );
    },
    get: async (sandboxId, scope) => {
      const [team, user] = ownerOf(scope);
      const [row] = await connections.query(
        `SELECT * FROM agentbox_ended_log WHERE sandbox_id = $1 AND team = coalesce($2::text, team) AND owner = coalesce($3::text, owner)`,
        [sandboxId, team, user],
      );
      if (row === undefined) return undefined;
      return {
        sandboxId,
        team: String(row["team"]),
        user: String(row["owner"]),
        container: String(row["container"]),
        keptAt: (row["kept_at"] as Date).toISOString(),
        truncated: row["truncated"] === true,
        text: await unpacked(row["data"] as Uint8Array),
      };
    },
    prune: async ({ olderThan, limit }) => {
      const gone = await connections.query(
        `DELETE FROM agentbox_ended_log WHERE sandbox_id IN (
           SELECT sandbox_id FROM agentbox_ended_log WHERE kept_at < $1 ORDER BY kept_at LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1`,
        [olderThan, limit],
      );
      return gone.length;
    },
    trim: async (team, keepBytes) => {
      await connections.query(
        `DELETE FROM agentbox_ended_log WHERE sandbox_id IN (SELECT sandbox_id FROM (
           SELECT sandbox_id, sum(bytes) OVER (ORDER BY kept_at DESC, sandbox_id DESC) AS newer FROM agentbox_ended_log WHERE team = $1
         ) AS l WHERE newer > $2)`,
        [team, keepBytes],
      );
    },
  };
}

function ownerOf(scope: HistoryScope): readonly [team: string | null, user: string | null] {
  return scope.kind === "admin" ? [null, null] : [scope.team, scope.user ?? null];
}
