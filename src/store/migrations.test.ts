import { describe, expect, test } from "vitest";
import { dueMigrations } from "./migrations.ts";

const all = ["first", "second", "third"].map((name) => ({ name, sql: name }));
const due = (version: number) => dueMigrations(all, version, "SQLite in x").map(({ version: number, name }) => `${number} ${name}`);

describe("migrations", () => {
  test("are due from the first that was not applied on, in order", () => {
    expect(due(0)).toEqual(["1 first", "2 second", "3 third"]);
    expect(due(2)).toEqual(["3 third"]);
    expect(due(3)).toEqual([]);
  });

  test("a schema from the future is refused, with both numbers", () => {
    expect(() => due(4)).toThrow(/SQLite in x was written by a newer AgentBox \(schema 4, this one knows up to 3\)/);
  });
});
