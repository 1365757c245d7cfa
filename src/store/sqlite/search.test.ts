import { DatabaseSync, type StatementSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { HistoryFilter } from "../history-store.ts";
import { migrations } from "./schema.ts";
import { search } from "./search.ts";
import { statistics } from "./store.ts";

/** Knows every statement that was asked of it. */
class RecordingDatabase extends DatabaseSync {
  readonly statements: string[] = [];

  override prepare(sql: string): StatementSync {
    this.statements.push(sql);
    return super.prepare(sql);
  }

  /** The most tables and subqueries that the plan of one statement has: what the planner's time grows with, exponentially. */
  get longestPlan(): number {
    const lengths = this.statements.splice(0).map((sql) => super.prepare(`EXPLAIN QUERY PLAN ${sql}`).all().length);
    return Math.max(...lengths);
  }
}

function pairs(count: number): Readonly<Record<string, string>> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, "value"]));
}

test.each([
  ["search", (db: DatabaseSync, filter: HistoryFilter) => search(db, { ...filter, limit: 10 }, { windowRows: 500, maxWindows: 100 })],
  ["statistics", (db: DatabaseSync, filter: HistoryFilter) => statistics(db, { ...filter, claimedAfter: "2026-01-01" }, 500)],
])("the plan of a %s does not grow with its pairs of metadata", async (_, ask) => {
  using db = new RecordingDatabase(":memory:");
  for (const { sql } of migrations) db.exec(sql);
  const scope = { kind: "tenant", team: "red" } as const;
  await ask(db, { scope, metadata: pairs(2) });
  const withTwo = db.longestPlan;
  await ask(db, { scope, metadata: pairs(32) });
  expect(db.longestPlan).toBe(withTwo);
});

test("which way is the shortest is found out by counting a bounded number of rows, however many ways there are", async () => {
  using db = new RecordingDatabase(":memory:");
  for (const { sql } of migrations) db.exec(sql);
  const counted: number[] = [];
  // Each way is counted with a limit, its last parameter.
  const prepare = db.prepare.bind(db);
  db.prepare = (sql) => {
    const statement = prepare(sql);
    if (!sql.startsWith("SELECT count(*)")) return statement;
    return { get: (...params: (string | number)[]) => (counted.push(Number(params.at(-1))), statement.get(...params)) } as StatementSync;
  };
  await search(db, { scope: { kind: "admin" }, metadata: pairs(32), limit: 10 }, { windowRows: 500, maxWindows: 100 });
  expect(counted).toHaveLength(33);
  expect(counted.reduce((sum, rows) => sum + rows, 0)).toBeLessThanOrEqual(20_000);
});
