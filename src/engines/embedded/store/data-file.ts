import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "#lib/clock.ts";
import { allowGivingBack, rebuildIfOld, sqliteCode } from "#lib/sqlite-space.ts";

/** What an acknowledged write survives: the death of the process, or also the sudden death of the machine (slower). */
export type Durability = "process-crash" | "power-loss";

export interface DataFileOptions {
  /** Path of the SQLite file, or `:memory:`. */
  readonly file: string;
  readonly durability: Durability;
  readonly clock: Clock;
}

interface Migration {
  readonly name: string;
  readonly sql: string;
}

/** Marks our files among all SQLite files: "AgBx". */
const applicationId = 0x41674278;

/** Applied in order, each once. Files are in the field: never edit one, append another. */
const migrations: readonly Migration[] = [
  {
    name: "revisions",
    sql: `
      CREATE TABLE resources (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
      CREATE TABLE revisions (
        rv INTEGER PRIMARY KEY,
        resource INTEGER NOT NULL,
        key TEXT NOT NULL,
        deleted INTEGER NOT NULL,
        written_at INTEGER NOT NULL,
        note TEXT,
        data TEXT
      );
      CREATE INDEX revisions_by_key ON revisions (resource, key, rv, deleted, note);
      CREATE TABLE numbers (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
      INSERT INTO numbers VALUES ('compacted', 0);
    `,
  },
];

/** What this AgentBox writes, and the newest that it reads. */
export const dataFileFormat = migrations.length;

/**
 * Opens the file for this process alone. The lock is the kernel's: it goes with the process, however that ends.
 * Throws an Error that says what is wrong with the file and what would help.
 */
export function openDataFile({ file, durability, clock }: DataFileOptions): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    // Secrets are in it. Only a new file is touched: closing a handle to an open one would give up the lock on it.
    if (file !== ":memory:" && !existsSync(file)) closeSync(openSync(file, "a", 0o600));
    db = new DatabaseSync(file, { timeout: 0 });
    allowGivingBack(db);
    // The WAL is folded back every 16 MB: rarer than SQLite's own 4 MB, for the write that has to do it waits 10 to 20 ms.
    db.exec(`
      PRAGMA locking_mode = EXCLUSIVE;
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = ${durability === "power-loss" ? "FULL" : "NORMAL"};
      PRAGMA cache_size = -16000;
      PRAGMA wal_autocheckpoint = 4000;
      BEGIN IMMEDIATE; COMMIT;
    `);
    migrate(db, file, clock);
    rebuildIfOld(db);
  } catch (error) {
    db?.close();
    throw explain(file, error);
  }
  if (file !== ":memory:") writeFileSync(ownerFile(file), `${process.pid}\n`, { mode: 0o600 });
  return db;
}

export function closeDataFile(db: DatabaseSync, file: string): void {
  if (file !== ":memory:") rmSync(ownerFile(file), { force: true });
  db.close();
}

/** Beside the data, for people and for our message only: whether the file is free is decided by the lock. */
function ownerFile(file: string): string {
  return `${file}.pid`;
}

function migrate(db: DatabaseSync, file: string, clock: Clock): void {
  const marked = Number(db.prepare("PRAGMA application_id").get()?.["application_id"]);
  const tables = Number(db.prepare("SELECT count(*) AS n FROM sqlite_schema").get()?.["n"]);
  if (marked !== applicationId && tables > 0) throw new Error(`${file} is a database, but not one of AgentBox: choose another file`);
  db.exec(`
    PRAGMA application_id = ${applicationId};
    CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL);
  `);
  const version = Number(db.prepare("SELECT coalesce(max(version), 0) AS version FROM migrations").get()?.["version"]);
  if (version > migrations.length) {
    throw new Error(`${file} was written by a newer AgentBox (format ${version}, this one knows up to ${migrations.length}): use that one`);
  }
  for (const [index, { name, sql }] of migrations.entries()) {
    if (index < version) continue;
    db.exec(`BEGIN; ${sql}`);
    db.prepare("INSERT INTO migrations VALUES (?, ?, ?)").run(index + 1, name, clock.now());
    db.exec("COMMIT");
  }
}

function explain(file: string, error: unknown): Error {
  switch (sqliteCode(error)) {
    case 5: // SQLITE_BUSY
      return new Error(`${file} is in use by ${owner(file)}: only one process can own it, stop that one or choose another file`, {
        cause: error,
      });
    case 11: // SQLITE_CORRUPT
    case 26: // SQLITE_NOTADB
      return new Error(`${file} is damaged or not a data file of AgentBox: restore it from a backup or move it away`, { cause: error });
    case 14: // SQLITE_CANTOPEN
      return unopenable(file, error);
    case undefined:
    default:
      return error instanceof Error && !("syscall" in error) ? error : unopenable(file, error);
  }
}

function unopenable(file: string, cause: unknown): Error {
  return new Error(`${file} cannot be opened: its folder must exist and be writable`, { cause });
}

function owner(file: string): string {
  try {
    return `process ${readFileSync(ownerFile(file), "utf8").trim()}`;
  } catch {
    return "another process";
  }
}
