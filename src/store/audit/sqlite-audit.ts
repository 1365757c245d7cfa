/** The audit log in SQLite. A search walks an index in windows of a bounded number of rows, because SQLite works in the calling thread. */
import type { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { allOf, type Condition } from "../conditions.ts";
import { inTransaction } from "../sqlite/connection.ts";
import type { SearchLimits } from "../sqlite/search.ts";
import { auditConditions } from "./audit-conditions.ts";
import { type AuditKey, auditKeyOf } from "./audit-key.ts";
import type { AuditEntry, AuditPage, AuditQuery, AuditStore } from "./audit-store.ts";
import { checkedAuditQuery, checkedEntry } from "./checked-audit.ts";

/** How many entries one `trim` removes at most. */
const trimStep = 1000;

/** Runs work on the database, and turns its failures into HistoryErrors. */
export type Run = <T>(work: () => T | Promise<T>) => Promise<T>;

export function sqliteAudit(db: DatabaseSync, run: Run, limits: SearchLimits): AuditStore {
  const insert = db.prepare(
    `INSERT INTO audit (id, at, team, owner, key_id, action, target, status, entry) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO NOTHING`,
  );
  return {
    add: (entries) =>
      run(() => {
        const checked = entries.map(checkedEntry);
        inTransaction(db, () => {
          for (const entry of checked) insert.run(...columnsOf(entry));
        });
      }),
    search: (query) => {
      const checked = checkedAuditQuery(query);
      return run(() => search(db, checked, limits));
    },
    prune: ({ olderThan, limit }) =>
      run(() => {
        const removed = db.prepare("DELETE FROM audit WHERE id IN (SELECT id FROM audit INDEXED BY audit_by_time WHERE at < ? LIMIT ?)");
        return Number(removed.run(Date.parse(olderThan), limit).changes);
      }),
    trim: (team, keep) => run(() => trim(db, team, keep)),
  };
}

function trim(db: DatabaseSync, team: string, keep: number): number {
  const first = db
    .prepare("SELECT at, id FROM audit INDEXED BY audit_by_team WHERE team = ? ORDER BY at DESC, id DESC LIMIT 1 OFFSET ?")
    .get(team, keep);
  if (first === undefined) return 0;
  const removed = db.prepare(
    `DELETE FROM audit WHERE id IN (
       SELECT id FROM audit INDEXED BY audit_by_team WHERE team = ? AND (at, id) <= (?, ?) ORDER BY at, id LIMIT ?)`,
  );
  return Number(removed.run(team, Number(first["at"]), String(first["id"]), trimStep).changes);
}

function columnsOf(entry: AuditEntry): (string | number)[] {
  const { id, at, team, user, keyId, action, target, status } = entry;
  return [id, Date.parse(at), team, user, keyId, action, target, status, JSON.stringify(entry)];
}

async function search(db: DatabaseSync, query: AuditQuery, { windowRows, maxWindows }: SearchLimits): Promise<AuditPage> {
  const way = wayOf(query);
  const entries: AuditEntry[] = [];
  let from = beginOf(query);
  for (let windows = 1; ; windows++) {
    const to = placeAfter(db, way, from, windowRows);
    entries.push(...entriesIn(db, { way, from, to, query }, query.limit + 1 - entries.length));
    const full = entries.at(query.limit - 1);
    if (full !== undefined && entries.length > query.limit) return { entries: entries.slice(0, query.limit), next: auditKeyOf(full) };
    if (to === undefined) return { entries };
    if (windows >= maxWindows) return { entries, next: { at: new Date(to[0]).toISOString(), id: to[1] } };
    from = to;
    await setImmediate();
  }
}

type Place = readonly [at: number, id: string];

/** The index to walk, and the rows of it that may match. */
interface Way extends Condition {
  readonly index: string;
}

/** The index that usually has the fewest rows. */
function wayOf(query: AuditQuery): Way {
  const { scope, target, keyId, after } = query;
  const team = scope.kind === "tenant" ? scope.team : query.team;
  const since = { sql: "a.at >= ?", params: [after === undefined ? 0 : Date.parse(after)] };
  const by = (index: string, column: string, value: string): Way => ({
    index: `audit_by_${index}`,
    ...allOf([{ sql: `a.${column} = ?`, params: [value] }, since]),
  });
  if (target !== undefined) return by("target", "target", target);
  if (keyId !== undefined) return by("key", "key_id", keyId);
  return team === undefined ? { index: "audit_by_time", ...since } : by("team", "team", team);
}

function beginOf({ behind, before }: AuditQuery): Place {
  const end: Place = [before === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(before), ""];
  const place: Place | undefined = behind && placeOf(behind);
  return place !== undefined && place[0] < end[0] ? place : end;
}

function placeOf({ at, id }: AuditKey): Place {
  return [Date.parse(at), id];
}

function placeAfter(db: DatabaseSync, { index, sql, params }: Way, from: Place, rows: number): Place | undefined {
  const row = db
    .prepare(
      `SELECT a.at AS at, a.id AS id FROM audit a INDEXED BY ${index} WHERE ${sql} AND (a.at, a.id) < (?, ?)
       ORDER BY a.at DESC, a.id DESC LIMIT 1 OFFSET ?`,
    )
    .get(...params, ...from, rows - 1);
  return row === undefined ? undefined : [Number(row["at"]), String(row["id"])];
}

interface Window {
  readonly way: Way;
  readonly from: Place;
  readonly to: Place | undefined;
  readonly query: AuditQuery;
}

function entriesIn(db: DatabaseSync, { way, from, to = [0, ""], query }: Window, count: number): AuditEntry[] {
  const filter = auditConditions(query);
  const rows = db
    .prepare(
      `SELECT a.entry AS entry FROM audit a INDEXED BY ${way.index}
       WHERE ${way.sql} AND (a.at, a.id) < (?, ?) AND (a.at, a.id) >= (?, ?) AND ${filter.sql}
       ORDER BY a.at DESC, a.id DESC LIMIT ?`,
    )
    .all(...way.params, ...from, ...to, ...filter.params, count);
  return rows.map((row) => JSON.parse(String(row["entry"])) as AuditEntry); // written by columnsOf
}
