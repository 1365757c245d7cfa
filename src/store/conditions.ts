/** A filter in SQL, over the history as `h`. A `?` stands for a parameter; PostgreSQL wants their numbers instead. */
import type { HistoryFilter } from "./history-store.ts";

export interface Condition {
  readonly sql: string;
  readonly params: readonly (string | number)[];
}

/** In what the two databases differ. */
export interface Dialect {
  /** A time as it stands in a column. */
  time(text: string): string | number;
  /** How to ask for pairs of metadata, of which there is at least one. */
  pairs(metadata: Readonly<Record<string, string>>): readonly Condition[];
}

/** All of the filter but the times of the claim, which also say where in the list to look. */
export function conditionsOf(filter: HistoryFilter, dialect: Dialect): Condition {
  const { status, idPrefix, metadata } = filter;
  return allOf([
    ...scopeConditions(filter),
    ...nameConditions(filter),
    ...timeConditions("h.ended_at", filter.endedAfter, filter.endedBefore, dialect),
    ...(status === undefined ? [] : [anyOf("h.status", status)]),
    ...(idPrefix === undefined ? [] : [prefixCondition(idPrefix)]),
    ...(metadata === undefined || Object.keys(metadata).length === 0 ? [] : dialect.pairs(metadata)),
  ]);
}

export function allOf(parts: readonly Condition[]): Condition {
  return { sql: ["1 = 1", ...parts.map((part) => part.sql)].join(" AND "), params: parts.flatMap((part) => part.params) };
}

export function timeConditions(column: string, after: string | undefined, before: string | undefined, dialect: Dialect): Condition[] {
  return [
    ...(after === undefined ? [] : [{ sql: `${column} >= ?`, params: [dialect.time(after)] }]),
    ...(before === undefined ? [] : [{ sql: `${column} < ?`, params: [dialect.time(before)] }]),
  ];
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

function anyOf(column: string, values: readonly string[]): Condition {
  if (values.length === 0) return { sql: "1 = 0", params: [] };
  return { sql: `${column} IN (${values.map(() => "?").join(", ")})`, params: values };
}
