import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, test } from "vitest";
import { allowGivingBack, rebuildIfOld } from "#lib/sqlite-space.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { inTransaction, openSqlite } from "./connection.ts";
import { migrations } from "./schema.ts";

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
    expect(db.prepare("SELECT * FROM migrations").all()).toEqual(
      migrations.map(({ name }, index) => ({ version: index + 1, name, applied_at: "2026-01-01T00:00:00.000Z" })),
    );
    db.close();
  });

  test("of before space was given back is rebuilt once, with all that is in it", async () => {
    const file = join(folder, "old.db");
    const open = () => openSqlite({ file, clock: new SteppedClock(), durability: "process-crash" });
    (await open()).close();
    const old = new DatabaseSync(file);
    old.exec("PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM; INSERT INTO history_record VALUES (7, '{}')");
    expect(old.prepare("PRAGMA auto_vacuum").get()).toEqual({ auto_vacuum: 0 });
    old.close();
    for (let start = 0; start < 2; start++) {
      const db = await open();
      expect(db.prepare("PRAGMA auto_vacuum").get()).toEqual({ auto_vacuum: 2 });
      expect(db.prepare("SELECT id FROM history_record").all()).toEqual([{ id: 7 }]);
      expect(db.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
      db.close();
    }
  });

  test("of before is used as it is while another process writes, and rebuilt at a later start", async () => {
    const file = join(folder, "old-busy.db");
    const old = new DatabaseSync(file);
    old.exec("CREATE TABLE t (x); INSERT INTO t VALUES (1); PRAGMA journal_mode = WAL");
    const db = new DatabaseSync(file, { timeout: 0 });
    allowGivingBack(db);
    old.exec("BEGIN IMMEDIATE");
    rebuildIfOld(db);
    expect(db.prepare("PRAGMA auto_vacuum").get()).toEqual({ auto_vacuum: 0 });
    old.exec("COMMIT");
    rebuildIfOld(db);
    expect(db.prepare("PRAGMA auto_vacuum").get()).toEqual({ auto_vacuum: 2 });
    expect(old.prepare("SELECT x FROM t").all()).toEqual([{ x: 1 }]);
    db.close();
    old.close();
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
