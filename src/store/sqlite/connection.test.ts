import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { inTransaction, openSqlite } from "./connection.ts";

const folder = mkdtempSync(join(tmpdir(), "agentbox-history-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("a history file", () => {
  test.each([
    ["process-crash", 1],
    ["power-loss", 2],
  ] as const)("for %s synchronizes at level %i, through a write-ahead log", async (durability, level) => {
    const db = await openSqlite({ file: join(folder, `${durability}.db`), clock: new SteppedClock(), durability });
    expect(db.prepare("PRAGMA synchronous").get()).toEqual({ synchronous: level });
    expect(db.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    db.close();
  });

  test("is set up once, and says when", async () => {
    const file = join(folder, "twice.db");
    const clock = new SteppedClock();
    (await openSqlite({ file, clock, durability: "process-crash" })).close();
    await clock.step(1000);
    const db = await openSqlite({ file, clock, durability: "process-crash" });
    expect(db.prepare("SELECT * FROM migrations").all()).toEqual([{ version: 1, name: "history", applied_at: "2026-01-01T00:00:00.000Z" }]);
    db.close();
  });

  test("a transaction that fails leaves nothing behind, and the next one works", async () => {
    const db = await openSqlite({ file: ":memory:", clock: new SteppedClock(), durability: "process-crash" });
    const insert = () => db.exec("INSERT INTO history_record VALUES (1, '{}')");
    const failing = () =>
      inTransaction(db, () => {
        insert();
        throw new Error("in between");
      });
    expect(failing).toThrow("in between");
    inTransaction(db, insert);
    expect(db.prepare("SELECT count(*) AS n FROM history_record").get()).toEqual({ n: 1 });
    db.close();
  });
});
