/**
 * Ways through the list. SQLite works in the calling thread, so the list is gone through in windows of a bounded number of rows, and
 * others get to run in between. Its planner does not weigh an order against a filter well without statistics, so the way is chosen
 * here: every index is the list in order, and the one with the fewest rows is walked.
 */
import type { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { type Condition, prefixCondition } from "../conditions.ts";
import type { HistoryFilter } from "../history-store.ts";
import type { RecordKey } from "../record-key.ts";

/** A way, newest first: `index` alone for its keys, `rows` also for the other columns. `key` is the table that has the key's columns. */
export interface Walk extends Condition {
  readonly index: string;
  readonly rows: string;
  readonly key: "h" | "m";
  /** Not in order: good only if it is short. */
  readonly unordered?: boolean;
}

/** A RecordKey as the columns have it. */
export type Place = readonly [claimedAt: number, sandboxId: string];

/** A stretch of a walk: rows older than `from`, down to `to` and including it. */
export interface Window {
  readonly walk: Walk;
  readonly from: Place;
  readonly to: Place;
  /** Nothing comes behind it. */
  readonly isLast: boolean;
}

/** Up to here, counting the rows of a way costs less than choosing the wrong one. */
const countUpTo = 5000;
/** Rows counted of all ways together: each pair of metadata is one, and the caller says how many there are. */
const countInAll = 20_000;

/** Cuts the query's part of the list into windows, in order. */
export async function* windowsOf(
  db: DatabaseSync,
  query: HistoryFilter & { readonly after?: RecordKey },
  windowRows: number,
): AsyncGenerator<Window> {
  const [begin, to] = rangeOf(query);
  const walk = shortestWalk(db, walksOf(query), begin, to);
  let from = begin;
  for (;;) {
    const end = placeAt(db, { walk, from, to, isLast: true }, windowRows);
    yield { walk, from, to: end ?? to, isLast: end === undefined };
    if (end === undefined) return;
    from = end;
    await setImmediate();
  }
}

export function withinWindow({ walk, from, to }: Window): Condition {
  const columns = `(${walk.key}.claimed_at, ${walk.key}.sandbox_id)`;
  return { sql: `${walk.sql} AND ${columns} < (?, ?) AND ${columns} >= (?, ?)`, params: [...walk.params, ...from, ...to] };
}

export function newestFirst({ key }: Walk): string {
  return `ORDER BY ${key}.claimed_at DESC, ${key}.sandbox_id DESC`;
}

export function keyAtPlace([claimedAt, sandboxId]: Place): RecordKey {
  return { claimedAt: new Date(claimedAt).toISOString(), sandboxId };
}

function placeAt(db: DatabaseSync, window: Window, position: number): Place | undefined {
  const { walk } = window;
  const { sql, params } = withinWindow(window);
  const row = db
    .prepare(
      `SELECT ${walk.key}.claimed_at AS claimedAt, ${walk.key}.sandbox_id AS sandboxId
       FROM ${walk.index} WHERE ${sql} ${newestFirst(walk)} LIMIT 1 OFFSET ?`,
    )
    .get(...params, position - 1);
  return row === undefined ? undefined : [Number(row["claimedAt"]), String(row["sandboxId"])];
}

/** The one with the fewest rows in the range; of those that are too long to count, the first. */
function shortestWalk(db: DatabaseSync, walks: readonly [Walk, ...Walk[]], from: Place, to: Place): Walk {
  let [best] = walks;
  if (walks.length === 1) return best;
  const upTo = Math.min(countUpTo, Math.floor(countInAll / walks.length));
  let fewest = Infinity;
  for (const walk of walks) {
    const { sql, params } = withinWindow({ walk, from, to, isLast: true });
    const counting = db.prepare(`SELECT count(*) AS n FROM (SELECT 1 FROM ${walk.index} WHERE ${sql} LIMIT ?)`);
    const rows = Number(counting.get(...params, upTo)?.["n"]);
    if (rows >= fewest || (walk.unordered === true && rows >= upTo)) continue;
    best = walk;
    fewest = rows;
  }
  return best;
}

/** All ways to this query's records, those that usually are short first. */
function walksOf(filter: HistoryFilter): [Walk, ...Walk[]] {
  const walks = Object.entries(filter.metadata ?? {}).map(([key, value]) => pairWalk(key, value));
  const columns = { pool: filter.pool, env: filter.env };
  for (const [column, value] of Object.entries(columns)) {
    if (value !== undefined) walks.push(walkOf(`history_by_${column}`, `h.${column} = ?`, [value]));
  }
  if (filter.idPrefix !== undefined && filter.idPrefix !== "") {
    const { sql, params } = prefixCondition(filter.idPrefix);
    walks.push({ ...walkOf("sqlite_autoindex_history_1", sql, params), unordered: true });
  }
  const scope = scopeWalk(filter);
  const [first, ...rest] = walks;
  // The first must be in order, for it is taken when all are long.
  return first === undefined || first.unordered === true ? [scope, ...walks] : [first, ...rest, scope];
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

function pairWalk(key: string, value: string): Walk {
  const index = "history_metadata m";
  const rows = `${index} CROSS JOIN history h ON h.sandbox_id = m.sandbox_id`;
  return { index, rows, key: "m", sql: "m.key = ? AND m.value = ?", params: [key, value] };
}

/** Where the query's part of the list begins and ends. */
function rangeOf({ after, claimedAfter, claimedBefore }: HistoryFilter & { readonly after?: RecordKey }): [from: Place, to: Place] {
  const before: Place = [claimedBefore === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(claimedBefore), ""];
  const behind: Place = after === undefined ? before : [Date.parse(after.claimedAt), after.sandboxId];
  return [behind[0] < before[0] ? behind : before, [claimedAfter === undefined ? 0 : Date.parse(claimedAfter), ""]];
}
