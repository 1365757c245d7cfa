import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "#lib/clock.ts";
import { HistoryError } from "../history-error.ts";
import { dueMigrations } from "../migrations.ts";
import { migrations } from "./schema.ts";

/** Marks our files among all SQLite files: "AgBh". */
const applicationId = 0x41674268;

/** Brings the schema up to date. Runs in a transaction that lets no other process write. */
export function migrate(db: DatabaseSync, file: string, clock: Clock): void {
  const marked = Number(db.prepare("PRAGMA application_id").get()?.["application_id"]);
  const tables = Number(db.prepare("SELECT count(*) AS n FROM sqlite_schema").get()?.["n"]);
  if (marked !== applicationId && tables > 0) {
    throw new HistoryError("misconfigured", `${file} is a database, but not a history of AgentBox: choose another file`);
  }
  db.exec(`
    PRAGMA application_id = ${applicationId};
    CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL);
  `);
  const version = Number(db.prepare("SELECT coalesce(max(version), 0) AS version FROM migrations").get()?.["version"]);
  for (const due of dueMigrations(migrations, version, `SQLite in ${file}`)) {
    db.exec(due.sql);
    db.prepare("INSERT INTO migrations VALUES (?, ?, ?)").run(due.version, due.name, new Date(clock.now()).toISOString());
  }
}
