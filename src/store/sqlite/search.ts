/**
 * Searching without holding up the process: SQLite works in the calling thread, so a search goes through the list in windows of a
 * bounded number of rows and lets others run in between. SQLite's planner does not weigh an order against a filter well without
 * statistics, so the way is chosen here: every index is the list in order, and the one with the fewest rows is walked.
 */
import { setImmediate } from "node:timers/promises";
import type { DatabaseSync } from "node:sqlite";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { type Condition, conditionsOf, type Pairs, prefixCondition } from "../conditions.ts";
import type { HistoryFilter, HistoryPage, HistoryQuery } from "../history-store.ts";
import { compareKeys, keyOf, type RecordKey } from "../record-key.ts";
import { parseRecord } from "./put.ts";

export interface SearchLimits {
  /** Rows that one statement examines. */
  readonly windowRows: number;
  /** Statements after which a search gives what it has, and the place where to go on. */
  readonly maxWindows: number;
}

export const defaultLimits: SearchLimits = { windowRows: 2000, maxWindows: 50 };

/** A way through the list, newest first: `index` alone for its keys, `rows` for whole records; `key` is the prefix of the key's columns. */
interface Walk extends Condition {
  readonly index: string;
  readonly rows: string;
  readonly key: "h" | "m";
  /** Not in order: good only if it is short. */
  readonly unordered?: boolean;
}

/** A stretch of a walk: rows older than `from`, down to `to` and including it. */
interface Window {
  readonly walk: Walk;
  readonly from: RecordKey;
  readonly to: RecordKey;
}

export async function search(db: DatabaseSync, query: HistoryQuery, limits: SearchLimits): Promise<HistoryPage> {
  const records: SandboxRecord[] = [];
  let windows = 0;
  for await (const { window, isLast } of windowsOf(db, query, limits)) {
    records.push(...readRecords(db, window, query, query.limit + 1 - records.length));
    const full = records.at(query.limit - 1);
    if (full !== undefined && records.length > query.limit) return page(records.slice(0, query.limit), keyOf(full));
    windows++;
    if (!isLast && windows >= limits.maxWindows) return page(records, window.to);
  }
  return page(records);
}

function page(records: readonly SandboxRecord[], next?: RecordKey): HistoryPage {
  return next === undefined ? { records } : { records, next };
}

/** Cuts the query's part of the list into windows, in order, with a pause for others between two. */
export async function* windowsOf(
  db: DatabaseSync,
  query: HistoryFilter & { readonly after?: RecordKey },
  { windowRows }: SearchLimits,
): AsyncGenerator<{ readonly window: Window; readonly isLast: boolean }> {
  const range = rangeOf(query);
  const walk = shortestWalk(db, walksOf(query), range, windowRows);
  let from = range.from;
  for (;;) {
    const end = keyAt(db, { walk, from, to: range.to }, windowRows);
    yield { window: { walk, from, to: end ?? range.to }, isLast: end === undefined };
    if (end === undefined) return;
    from = end;
    await setImmediate();
  }
}

/** The rows of a window that pass the filter; what stands behind its conditions (grouping, order) is the caller's. */
export function readWindow(db: DatabaseSync, { walk, from, to }: Window, what: string, filter: Condition): Record<string, unknown>[] {
  const sql = `SELECT ${what} FROM ${walk.rows} WHERE ${walk.sql} AND ${between(walk)} AND ${filter.sql}`;
  return db.prepare(sql).all(...walk.params, ...bounds(from, to), ...filter.params);
}

function readRecords(db: DatabaseSync, window: Window, query: HistoryQuery, count: number): SandboxRecord[] {
  const { sql, params } = conditionsOf(query, pairConditions);
  const ordered = { sql: `${sql} ${newestFirst(window.walk)} LIMIT ?`, params: [...params, count] };
  return readWindow(db, window, "h.record AS record", ordered).map((row) => deepFreeze(parseRecord(row["record"])));
}

function keyAt(db: DatabaseSync, { walk, from, to }: Window, position: number): RecordKey | undefined {
  const { key } = walk;
  const row = db
    .prepare(
      `SELECT ${key}.claimed_at AS claimedAt, ${key}.sandbox_id AS sandboxId FROM ${walk.index}
       WHERE ${walk.sql} AND ${between(walk)} ${newestFirst(walk)} LIMIT 1 OFFSET ?`,
    )
    .get(...walk.params, ...bounds(from, to), position - 1);
  return row === undefined ? undefined : { claimedAt: String(row["claimedAt"]), sandboxId: String(row["sandboxId"]) };
}

/** The walk with the fewest rows in the range, as far as counting is cheap. */
function shortestWalk(db: DatabaseSync, walks: readonly [Walk, ...Walk[]], range: Omit<Window, "walk">, cap: number): Walk {
  let [best] = walks;
  if (walks.length === 1) return best;
  let fewest = Infinity;
  for (const walk of walks) {
    const sql = `SELECT count(*) AS n FROM (SELECT 1 FROM ${walk.index} WHERE ${walk.sql} AND ${between(walk)} LIMIT ?)`;
    const rows = Number(db.prepare(sql).get(...walk.params, ...bounds(range.from, range.to), cap)?.["n"]);
    if (rows >= fewest || (walk.unordered === true && rows >= cap)) continue;
    best = walk;
    fewest = rows;
  }
  return best;
}

/** All ways to this query's records; the first is in order. */
function walksOf(filter: HistoryFilter): readonly [Walk, ...Walk[]] {
  const walks: [Walk, ...Walk[]] = [scopeWalk(filter)];
  const columns = { pool: filter.pool, env: filter.env, template: filter.template, status: onlyOne(filter.status) };
  for (const [column, value] of Object.entries(columns)) {
    if (value !== undefined) walks.push(walkOf(`history_by_${column}`, `h.${column} = ?`, [value]));
  }
  for (const [key, value] of Object.entries(filter.metadata ?? {})) walks.push(pairWalk(filter, key, value));
  if (filter.idPrefix !== undefined && filter.idPrefix !== "") {
    const { sql, params } = prefixCondition(filter.idPrefix);
    walks.push({ ...walkOf("sqlite_autoindex_history_1", sql, params), unordered: true });
  }
  return walks;
}

function walkOf(index: string, sql: string, params: Condition["params"]): Walk {
  const from = `history h INDEXED BY ${index}`;
  return { index: from, rows: from, key: "h", sql, params };
}

function scopeWalk({ scope }: HistoryFilter): Walk {
  if (scope.kind === "admin") return walkOf("history_by_time", "1 = 1", []);
  if (scope.user === undefined) return walkOf("history_by_team", "h.team = ?", [scope.team]);
  return walkOf("history_by_owner", "h.team = ? AND h.owner = ?", [scope.team, scope.user]);
}

function pairWalk({ scope }: HistoryFilter, key: string, value: string): Walk {
  const tenant = scope.kind === "tenant";
  const index = tenant ? "history_metadata m INDEXED BY history_metadata_by_team" : "history_metadata m";
  return {
    index,
    rows: `${index} CROSS JOIN history h ON h.sandbox_id = m.sandbox_id`,
    key: "m",
    sql: tenant ? "m.team = ? AND m.key = ? AND m.value = ?" : "m.key = ? AND m.value = ?",
    params: tenant ? [scope.team, key, value] : [key, value],
  };
}

export function pairConditions(metadata: Pairs): readonly Condition[] {
  return Object.entries(metadata).map((pair) => ({
    sql: `EXISTS (SELECT 1 FROM history_metadata p
      WHERE p.key = ? AND p.value = ? AND p.claimed_at = h.claimed_at AND p.sandbox_id = h.sandbox_id)`,
    params: pair,
  }));
}

function onlyOne<T>(list: readonly T[] | undefined): T | undefined {
  return list?.length === 1 ? list[0] : undefined;
}

/** Later than any time and earlier than any, as texts. */
const newest: RecordKey = { claimedAt: "~", sandboxId: "" };
const oldest: RecordKey = { claimedAt: "", sandboxId: "" };

function rangeOf({ after, claimedAfter, claimedBefore }: HistoryFilter & { readonly after?: RecordKey }): Omit<Window, "walk"> {
  const before = claimedBefore === undefined ? newest : { claimedAt: claimedBefore, sandboxId: "" };
  return {
    from: after !== undefined && compareKeys(after, before) > 0 ? after : before,
    to: claimedAfter === undefined ? oldest : { claimedAt: claimedAfter, sandboxId: "" },
  };
}

function between({ key }: Walk): string {
  return `(${key}.claimed_at, ${key}.sandbox_id) < (?, ?) AND (${key}.claimed_at, ${key}.sandbox_id) >= (?, ?)`;
}

function bounds(from: RecordKey, to: RecordKey): string[] {
  return [from.claimedAt, from.sandboxId, to.claimedAt, to.sandboxId];
}

function newestFirst({ key }: Walk): string {
  return `ORDER BY ${key}.claimed_at DESC, ${key}.sandbox_id DESC`;
}
