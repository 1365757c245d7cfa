/**
 * A filter in SQL, over the history as `h`. Both databases understand it; only pairs of metadata are found differently, and where a
 * `?` stands for a parameter PostgreSQL wants its number.
 */
import type { HistoryFilter } from "./history-store.ts";

export interface Condition {
  readonly sql: string;
  readonly params: readonly (string | number)[];
}

export type Pairs = Readonly<Record<string, string>>;

/** `pairs`: how this database asks for pairs of metadata. */
export function conditionsOf(filter: HistoryFilter, pairs: (metadata: Pairs) => readonly Condition[]): Condition {
  const parts = [...scopeConditions(filter), ...nameConditions(filter), ...endConditions(filter), ...pairs(filter.metadata ?? {})];
  if (filter.status !== undefined) parts.push(anyOf("h.status", filter.status));
  if (filter.idPrefix !== undefined) parts.push(prefixCondition(filter.idPrefix));
  return { sql: ["1 = 1", ...parts.map((part) => part.sql)].join(" AND "), params: parts.flatMap((part) => part.params) };
}

/** Ids are ASCII below DEL, so all that begin so, and nothing else, lie between these two. */
export function prefixCondition(prefix: string): Condition {
  return { sql: "h.sandbox_id >= ? AND h.sandbox_id < ?", params: [prefix, `${prefix}\x7f`] };
}

function scopeConditions({ scope }: HistoryFilter): Condition[] {
  if (scope.kind === "admin") return [];
  const team = { sql: "h.team = ?", params: [scope.team] };
  return scope.user === undefined ? [team] : [team, { sql: "h.owner = ?", params: [scope.user] }];
}

function nameConditions({ pool, env, template }: HistoryFilter): Condition[] {
  return Object.entries({ pool, env, template }).flatMap(([column, value]) =>
    value === undefined ? [] : [{ sql: `h.${column} = ?`, params: [value] }],
  );
}

function endConditions({ endedAfter, endedBefore }: HistoryFilter): Condition[] {
  return [
    ...(endedAfter === undefined ? [] : [{ sql: "h.ended_at >= ?", params: [endedAfter] }]),
    ...(endedBefore === undefined ? [] : [{ sql: "h.ended_at < ?", params: [endedBefore] }]),
  ];
}

function anyOf(column: string, values: readonly string[]): Condition {
  if (values.length === 0) return { sql: "1 = 0", params: [] };
  return { sql: `${column} IN (${values.map(() => "?").join(", ")})`, params: values };
}
