import { eventTables, listIndexes, turnIndexes } from "../events/event-tables.ts";
import type { Migration } from "../migrations.ts";

/**
 * `history` has what is searched for, and is kept narrow, because searches go through many of its rows; `history_record` has the whole
 * records as JSON, under the same number. Every index ends with the key that orders all lists, so each is a list of its own, in order,
 * from any place on; each also costs every put a page. Times are milliseconds since 1970. Pairs of metadata stand in a table of their own, because SQLite has no index
 * over the insides of JSON.
 *
 * `counted` says that the hours of a record are in `usage`.
 */
export const migrations: readonly Migration[] = [
  {
    name: "history",
    sql: `
      CREATE TABLE history (
        id INTEGER PRIMARY KEY,
        sandbox_id TEXT NOT NULL UNIQUE,
        team TEXT NOT NULL,
        owner TEXT NOT NULL,
        pool TEXT NOT NULL,
        env TEXT,
        template TEXT,
        status TEXT NOT NULL,
        claimed_at INTEGER NOT NULL,
        ended_at INTEGER,
        kept_since INTEGER NOT NULL
      );
      CREATE INDEX history_by_time ON history (claimed_at, sandbox_id);
      CREATE INDEX history_by_team ON history (team, claimed_at, sandbox_id);
      CREATE INDEX history_by_owner ON history (team, owner, claimed_at, sandbox_id);
      CREATE INDEX history_by_pool ON history (pool, claimed_at, sandbox_id);
      CREATE INDEX history_by_env ON history (env, claimed_at, sandbox_id) WHERE env IS NOT NULL;
      CREATE INDEX history_by_age ON history (kept_since);
      CREATE TABLE history_record (id INTEGER PRIMARY KEY, record TEXT NOT NULL);
      CREATE TABLE history_metadata (
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        claimed_at INTEGER NOT NULL,
        sandbox_id TEXT NOT NULL,
        PRIMARY KEY (key, value, claimed_at, sandbox_id)
      ) WITHOUT ROWID;
    `,
  },
  {
    name: "audit",
    sql: `
      CREATE TABLE audit (
        id TEXT PRIMARY KEY,
        at INTEGER NOT NULL,
        team TEXT NOT NULL,
        owner TEXT NOT NULL,
        key_id TEXT NOT NULL,
        action TEXT NOT NULL,
        target TEXT NOT NULL,
        status INTEGER NOT NULL,
        entry TEXT NOT NULL
      );
      CREATE INDEX audit_by_time ON audit (at, id);
      CREATE INDEX audit_by_team ON audit (team, at, id);
      CREATE INDEX audit_by_key ON audit (key_id, at, id);
      CREATE INDEX audit_by_target ON audit (target, at, id);
    `,
  },
  {
    name: "usage",
    sql: `
      ALTER TABLE history ADD COLUMN counted INTEGER NOT NULL DEFAULT 0;
      CREATE INDEX history_uncounted ON history (id) WHERE counted = 0 AND ended_at IS NOT NULL;
      CREATE TABLE usage (
        hour INTEGER NOT NULL,
        team TEXT NOT NULL,
        owner TEXT NOT NULL,
        creates INTEGER NOT NULL,
        sandbox_seconds REAL NOT NULL,
        cpu_seconds REAL NOT NULL,
        memory_seconds REAL NOT NULL,
        PRIMARY KEY (hour, team, owner)
      ) WITHOUT ROWID;
    `,
  },
  {
    name: "logs",
    sql: `
      CREATE TABLE ended_log (
        sandbox_id TEXT PRIMARY KEY,
        team TEXT NOT NULL,
        owner TEXT NOT NULL,
        container TEXT NOT NULL,
        kept_at INTEGER NOT NULL,
        truncated INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        data BLOB NOT NULL
      );
      CREATE INDEX ended_log_by_time ON ended_log (kept_at);
      CREATE INDEX ended_log_by_team ON ended_log (team, kept_at, sandbox_id, bytes);
    `,
  },
  { name: "events", sql: eventTables("INTEGER PRIMARY KEY AUTOINCREMENT") },
  { name: "turns of deliveries", sql: turnIndexes },
  { name: "lists of events", sql: listIndexes },
];
