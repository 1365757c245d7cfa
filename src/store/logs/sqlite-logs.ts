/** Logs of ended sandboxes in SQLite. */
import type { DatabaseSync } from "node:sqlite";
import type { Run } from "../audit/sqlite-audit.ts";
import { allOf } from "../conditions.ts";
import type { HistoryScope } from "../history-store.ts";
import { type LogStore, packed, unpacked } from "./log-store.ts";

export function sqliteLogs(db: DatabaseSync, run: Run): LogStore {
  return {
    put: async ({ sandboxId, team, user, container, keptAt, truncated, text }) => {
      const { data, bytes } = await packed(text);
      await run(() => {
        db.prepare(
          "INSERT OR REPLACE INTO ended_log (sandbox_id, team, owner, container, kept_at, truncated, bytes, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        ).run(sandboxId, team, user, container, Date.parse(keptAt), truncated ? 1 : 0, bytes, data);
      });
    },
    get: (sandboxId, scope) =>
      run(async () => {
        const { sql, params } = ofScope(scope);
        const row = db.prepare(`SELECT * FROM ended_log l WHERE l.sandbox_id = ? AND ${sql}`).get(sandboxId, ...params);
        if (row === undefined) return undefined;
        return {
          sandboxId,
          team: String(row["team"]),
          user: String(row["owner"]),
          container: String(row["container"]),
          keptAt: new Date(Number(row["kept_at"])).toISOString(),
          truncated: row["truncated"] === 1,
          text: await unpacked(row["data"] as Uint8Array),
        };
      }),
    prune: ({ olderThan, limit }) =>
      run(() => {
        const old = "SELECT sandbox_id FROM ended_log INDEXED BY ended_log_by_time WHERE kept_at < ? LIMIT ?";
        return Number(db.prepare(`DELETE FROM ended_log WHERE sandbox_id IN (${old})`).run(Date.parse(olderThan), limit).changes);
      }),
    trim: (team, keepBytes) =>
      run(() => {
        db.prepare(
          `DELETE FROM ended_log WHERE sandbox_id IN (SELECT sandbox_id FROM (
             SELECT sandbox_id, sum(bytes) OVER (ORDER BY kept_at DESC, sandbox_id DESC) AS newer
             FROM ended_log INDEXED BY ended_log_by_team WHERE team = ?) WHERE newer > ?)`,
        ).run(team, keepBytes);
      }),
  };
}

function ofScope(scope: HistoryScope) {
  if (scope.kind === "admin") return allOf([]);
  const team = { sql: "l.team = ?", params: [scope.team] };
  return allOf(scope.user === undefined ? [team] : [team, { sql: "l.owner = ?", params: [scope.user] }]);
}
