/** The audit log in PostgreSQL, written by all API processes. */
import { allOf, timeConditions } from "../conditions.ts";
import type { Connections } from "../postgres/connection.ts";
import { numbered } from "../postgres/search.ts";
import { auditConditions } from "./audit-conditions.ts";
import { auditKeyOf } from "./audit-key.ts";
import type { AuditEntry, AuditPage, AuditQuery, AuditStore } from "./audit-store.ts";
import { checkedAuditQuery, checkedEntry } from "./checked-audit.ts";

/** How many entries one `trim` removes at most. */
const trimStep = 1000;

export function postgresAudit(connections: Connections): AuditStore {
  const removed = async (sql: string, params: readonly unknown[]): Promise<number> => (await connections.query(sql, params)).length;
  return {
    add: async (entries) => {
      if (entries.length === 0) return;
      const rows = entries.map(checkedEntry).map((entry) => ({ ...entry, owner: entry.user, key_id: entry.keyId, entry }));
      await connections.query(
        `INSERT INTO agentbox_audit (id, at, team, owner, key_id, action, target, status, entry)
         SELECT id, at, team, owner, key_id, action, target, status, entry FROM json_to_recordset($1) AS r(
           id text, at timestamptz, team text, owner text, key_id text, action text, target text, status integer, entry json)
         ON CONFLICT (id) DO NOTHING`,
        [JSON.stringify(rows)],
      );
    },
    search: async (query) => search(connections, checkedAuditQuery(query)),
    prune: ({ olderThan, limit }) =>
      removed(
        `DELETE FROM agentbox_audit WHERE id IN (
           SELECT id FROM agentbox_audit WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1`,
        [olderThan, limit],
      ),
    trim: (team, keep) =>
      removed(
        `DELETE FROM agentbox_audit WHERE id IN (
           SELECT a.id FROM agentbox_audit a,
             (SELECT at, id FROM agentbox_audit WHERE team = $1 ORDER BY at DESC, id DESC LIMIT 1 OFFSET $2) AS first
           WHERE a.team = $1 AND (a.at, a.id) <= (first.at, first.id) ORDER BY a.at, a.id LIMIT $3 FOR UPDATE OF a SKIP LOCKED) RETURNING 1`,
        [team, keep, trimStep],
      ),
  };
}

async function search(connections: Connections, query: AuditQuery): Promise<AuditPage> {
  const { after, before, behind, limit } = query;
  const times = timeConditions("a.at", after, before, { time: (text) => text, pairs: () => [] });
  const place = behind === undefined ? [] : [{ sql: "(a.at, a.id) < (?, ?)", params: [behind.at, behind.id] }];
  const { sql, params } = allOf([auditConditions(query), ...times, ...place]);
  const rows = await connections.query(
    numbered(`SELECT a.entry FROM agentbox_audit a WHERE ${sql} ORDER BY a.at DESC, a.id DESC LIMIT ?`),
    [...params, limit + 1],
  );
  const entries = rows.slice(0, limit).map((row) => row["entry"] as AuditEntry); // written by `add`
  const last = entries.at(-1);
  return last === undefined || rows.length <= limit ? { entries } : { entries, next: auditKeyOf(last) };
}
