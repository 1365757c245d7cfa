import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SteppedClock } from "../../../../test/world/stepped-clock.ts";
import { closeDataFile, type Durability, openDataFile } from "./data-file.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-file-"));
  file = join(folder, "objects.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const clock = new SteppedClock();
const open = (durability: Durability = "process-crash") => openDataFile({ file, durability, clock });

describe("a data file", () => {
  test("is made, and has every migration once", () => {
    for (let i = 0; i < 2; i++) {
      const db = open();
      expect(
        db
          .prepare("SELECT version, name FROM migrations")
          .all()
          .map((row) => ({ ...row })),
      ).toEqual([{ version: 1, name: "revisions" }]);
      closeDataFile(db, file);
    }
  });

  test("of before space was given back is rebuilt once, with all that is in it", () => {
    closeDataFile(open(), file);
    const old = new DatabaseSync(file);
    old.exec("PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM; INSERT INTO resources VALUES (7, 'kept')");
    expect(old.prepare("PRAGMA auto_vacuum").get()).toEqual({ auto_vacuum: 0 });
    old.close();
    for (let start = 0; start < 2; start++) {
      const db = open();
      expect(db.prepare("PRAGMA auto_vacuum").get()).toEqual({ auto_vacuum: 2 });
      expect(db.prepare("SELECT name FROM resources WHERE id = 7").get()).toEqual({ name: "kept" });
      expect(db.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
      closeDataFile(db, file);
    }
  });

  test.for<[Durability, number]>([
    ["process-crash", 1],
    ["power-loss", 2],
  ])("for %s synchronizes at level %i, through a write-ahead log", ([durability, level]) => {
    const db = open(durability);
    expect(db.prepare("PRAGMA synchronous").get()).toEqual({ synchronous: level });
    expect(db.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    closeDataFile(db, file);
  });

  test("and what lies beside it can be read by its owner only: secrets are in it", () => {
    const db = open();
    for (const part of [file, `${file}-wal`, `${file}.pid`]) expect(statSync(part).mode & 0o777).toBe(0o600);
    closeDataFile(db, file);
  });

  test("belongs to one owner, in the same process too", () => {
    const db = open();
    expect(() => open()).toThrow(`${file} is in use by process ${process.pid}: only one process can own it`);
    closeDataFile(db, file);
    expect(existsSync(`${file}.pid`)).toBe(false);
    closeDataFile(open(), file);
  });

  test("of another process is free as soon as that one is killed, whatever it left behind", async () => {
    const module = new URL("./data-file.ts", import.meta.url).href;
    const code = `
      const { openDataFile } = await import(${JSON.stringify(module)});
      openDataFile({ file: ${JSON.stringify(file)}, durability: "process-crash", clock: { now: () => 0, after: () => {} } });
      console.log("open");
      setInterval(() => {}, 1000);
    `;
    const owner = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
    try {
      await once(owner.stdout, "data");
      expect(() => open()).toThrow(`in use by process ${owner.pid}:`);
    } finally {
      owner.kill("SIGKILL");
      await once(owner, "exit");
    }
    expect(readFileSync(`${file}.pid`, "utf8").trim()).toBe(String(owner.pid));
    closeDataFile(open(), file);
  });

  test("of a newer AgentBox is refused", () => {
    const db = open();
    db.exec("INSERT INTO migrations VALUES (7, 'from the future', 0)");
    closeDataFile(db, file);
    expect(() => open()).toThrow(`${file} was written by a newer AgentBox (format 7, this one knows up to 1)`);
  });

  test("of another program is refused and left alone", () => {
    const other = new DatabaseSync(file);
    other.exec("CREATE TABLE theirs (x)");
    other.close();
    expect(() => open()).toThrow(`${file} is a database, but not one of AgentBox`);
  });

  test("that is no database is refused", () => {
    writeFileSync(file, "Lorem ipsum. ".repeat(1000));
    expect(() => open()).toThrow(`${file} is damaged or not a data file of AgentBox`);
  });

  test("whose pages are overwritten is refused", () => {
    const db = open();
    closeDataFile(db, file);
    const bytes = readFileSync(file);
    writeFileSync(file, Buffer.concat([bytes.subarray(0, 100), Buffer.alloc(bytes.length - 100, 0xff)]));
    expect(() => open()).toThrow(`${file} is damaged`);
  });

  test("in a folder that is not there is refused with what would help", () => {
    expect(() => openDataFile({ file: join(folder, "no", "such.db"), durability: "process-crash", clock })).toThrow(
      "cannot be opened: its folder must exist and be writable",
    );
  });
});
