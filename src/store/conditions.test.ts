import { expect, test } from "vitest";
import { conditionsOf, type Dialect } from "./conditions.ts";

const dialect: Dialect = { time: (text) => text, pairs: () => [] };

/** On SQLite the index that is walked holds the team as well; on PostgreSQL nothing else does. */
test("I8: a tenant's search is for its team, and a user's for its own; an admin's is for all", () => {
  expect(conditionsOf({ scope: { kind: "tenant", team: "red" } }, dialect)).toEqual({ sql: "1 = 1 AND h.team = ?", params: ["red"] });
  expect(conditionsOf({ scope: { kind: "tenant", team: "red", user: "ann" } }, dialect)).toEqual({
    sql: "1 = 1 AND h.team = ? AND h.owner = ?",
    params: ["red", "ann"],
  });
  expect(conditionsOf({ scope: { kind: "admin" } }, dialect)).toEqual({ sql: "1 = 1", params: [] });
});

test("no status is nothing, not everything", () => {
  expect(conditionsOf({ scope: { kind: "admin" }, status: [] }, dialect).sql).toBe("1 = 1 AND 1 = 0");
});
