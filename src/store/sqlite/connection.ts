/** Opening the file, and what can be wrong with it. One process writes; others may read, and wait their turn if they write too. */
import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { type Clock, sleep } from "#lib/clock.ts";
import { allowGivingBack, rebuildIfOld } from "#lib/sqlite-space.ts";
import { explainFailure, isBusy } from "./failures.ts";
import { migrate } from "./migrate.ts";

/** What a put survives: the death of the process, or also the sudden death of the machine (slower). */
export type Durability = "process-crash" | "power-loss";

export interface SqliteOptions {
  /** Path of the file, or `:memory:`. */
  readonly file: string;
  readonly clock: Clock;
  readonly durability: Durability;
}

/** How long a statement waits for another process. It waits in place, so not long. */
const busyMs = 2000;
const openTries = 20;
const openPauseMs = 50;

/** Throws HistoryError `misconfigured`. Several processes may open, and so create, the file at once. */
export async function openSqlite(options: SqliteOptions): Promise<DatabaseSync> {
  for (let tries = 1; ; tries++) {
    try {
      return open(options);
    } catch (error) {
      // Setting up a new file needs exclusive access. The process that has it is soon done.
      if (!isBusy(error) || tries >= openTries) throw explainFailure(options.file, error);
      await sleep(options.clock, openPauseMs);
    }
  }
}

function open({ file, clock, durability }: SqliteOptions): DatabaseSync {
  // Metadata may be private. SQLite gives the files beside it the same rights.
  if (file !== ":memory:") closeSync(openSync(file, "a", 0o600));
  const db = new DatabaseSync(file, { timeout: busyMs });
  try {
    allowGivingBack(db);
    db.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = ${durability === "power-loss" ? "FULL" : "NORMAL"};
      PRAGMA cache_size = -32000;
      PRAGMA wal_autocheckpoint = 4000;
    `);
    inTransaction(db, () => migrate(db, file, clock));
    rebuildIfOld(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Runs `work` alone: another writer waits before it, or is waited for. All of it happens, or nothing. */
export function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
