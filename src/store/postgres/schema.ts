import type { Migration } from "../migrations.ts";

/**
 * The same columns as in SQLite, and the same indexes: each is the list in order. Metadata is a column of its own for one index over
 * all pairs. `revision` counts the changes of a row, so that a merge is written only over what it was made from. Ids are compared by
 * their bytes, as everywhere else, whatever language the database is set to.
 */
export const migrations: readonly Migration[] = [
  {
    name: "history",
    sql: `
      CREATE TABLE agentbox_history (
        sandbox_id text COLLATE "C" PRIMARY KEY,
        team text NOT NULL,
        owner text NOT NULL,
        pool text NOT NULL,
        env text,
        template text,
        status text NOT NULL,
        claimed_at timestamptz NOT NULL,
        ended_at timestamptz,
        kept_since timestamptz NOT NULL,
        metadata jsonb NOT NULL,
        record json NOT NULL,
        revision integer NOT NULL DEFAULT 1
      );
      CREATE INDEX agentbox_history_by_time ON agentbox_history (claimed_at, sandbox_id);
      CREATE INDEX agentbox_history_by_team ON agentbox_history (team, claimed_at, sandbox_id);
      CREATE INDEX agentbox_history_by_owner ON agentbox_history (team, owner, claimed_at, sandbox_id);
      CREATE INDEX agentbox_history_by_pool ON agentbox_history (pool, claimed_at, sandbox_id);
      CREATE INDEX agentbox_history_by_env ON agentbox_history (env, claimed_at, sandbox_id) WHERE env IS NOT NULL;
      CREATE INDEX agentbox_history_by_age ON agentbox_history (kept_since);
      CREATE INDEX agentbox_history_by_metadata ON agentbox_history USING gin (metadata jsonb_path_ops);
    `,
  },
];
