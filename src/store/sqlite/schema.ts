import type { Migration } from "../migrations.ts";

/**
 * `record` is the whole record as JSON; the other columns repeat what is searched for. Every index ends with the key that orders
 * all lists, so each is a list of its own, in order, from any place on. Times are texts in one form: comparing them is comparing times.
 * Pairs of metadata stand in a table of their own, because SQLite has no index over the insides of JSON.
 */
export const migrations: readonly Migration[] = [
  {
    name: "history",
    sql: `
      CREATE TABLE history (
        sandbox_id TEXT NOT NULL PRIMARY KEY,
        team TEXT NOT NULL,
        owner TEXT NOT NULL,
        pool TEXT NOT NULL,
        env TEXT,
        template TEXT,
        status TEXT NOT NULL,
        claimed_at TEXT NOT NULL,
        ended_at TEXT,
        kept_since TEXT NOT NULL,
        record TEXT NOT NULL
      );
      CREATE INDEX history_by_time ON history (claimed_at, sandbox_id);
      CREATE INDEX history_by_team ON history (team, claimed_at, sandbox_id);
      CREATE INDEX history_by_owner ON history (team, owner, claimed_at, sandbox_id);
      CREATE INDEX history_by_pool ON history (pool, claimed_at, sandbox_id);
      CREATE INDEX history_by_env ON history (env, claimed_at, sandbox_id) WHERE env IS NOT NULL;
      CREATE INDEX history_by_template ON history (template, claimed_at, sandbox_id) WHERE template IS NOT NULL;
      CREATE INDEX history_by_status ON history (status, claimed_at, sandbox_id);
      CREATE INDEX history_by_age ON history (kept_since);
      CREATE TABLE history_metadata (
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        claimed_at TEXT NOT NULL,
        sandbox_id TEXT NOT NULL,
        team TEXT NOT NULL,
        PRIMARY KEY (key, value, claimed_at, sandbox_id)
      ) WITHOUT ROWID;
      CREATE INDEX history_metadata_by_team ON history_metadata (team, key, value, claimed_at, sandbox_id);
    `,
  },
];
