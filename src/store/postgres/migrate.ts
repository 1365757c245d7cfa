import type { PoolClient } from "pg";
import { eventTables, listIndexes, turnIndexes } from "#store/events/event-tables.ts";
import { dueMigrations, type Migration } from "#store/migrations.ts";
import type { Connections } from "./connection.ts";

/** Any number that no other program in the database uses: "AgBh". */
const lockKey = 0x41674268;
/** Building an index over a long history takes longer than any other statement may. */
const timeoutMs = 30 * 60_000;

/**
 * Brings the schema up to date. Of several processes that start at once one does it, the others wait and find it done. Where it is
 * up to date nothing is written, so that a user without the right to create tables will do.
 */
export async function migrate(connections: Connections): Promise<void> {
  const version = await currentVersion(connections);
  if (dueMigrations(migrations, version, connections.description).length === 0) return;
  await connections.transaction(async (client) => {
    await run(client, `SET LOCAL statement_timeout = ${timeoutMs}`);
    await run(client, `SELECT pg_advisory_xact_lock(${lockKey})`);
    await run(
      client,
      `CREATE TABLE IF NOT EXISTS agentbox_history_migrations (
         version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
    );
    const { rows } = await client.query<{ version: number }>(newestVersion);
    for (const due of dueMigrations(migrations, rows[0]?.version ?? 0, connections.description)) {
      await run(client, due.sql);
      await client.query("INSERT INTO agentbox_history_migrations (version, name) VALUES ($1, $2)", [due.version, due.name]);
    }
  });
}

const newestVersion = "SELECT coalesce(max(version), 0) AS version FROM agentbox_history_migrations";

async function currentVersion(connections: Connections): Promise<number> {
  const [found] = await connections.query("SELECT to_regclass('agentbox_history_migrations') IS NOT NULL AS there");
  if (found?.["there"] !== true) return 0;
  const [row] = await connections.query(newestVersion);
  return Number(row?.["version"]);
}

async function run(client: PoolClient, text: string): Promise<void> {
  // The driver has a limit of its own for each statement, which its types leave out.
  const statement: { text: string; query_timeout: number } = { text, query_timeout: timeoutMs };
  await client.query(statement);
}

/**
 * The same columns as in SQLite, and the same indexes: each is the list in order. Metadata is a column of its own for one index over
 * all pairs. `revision` counts the changes of a row, so that a merge is written only over what it was made from. Ids are compared by
 * their bytes, as everywhere else, whatever language the database is set to.
 */
const migrations: readonly Migration[] = [
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
  {
    name: "audit",
    sql: `
      CREATE TABLE agentbox_audit (
        id text COLLATE "C" PRIMARY KEY,
        at timestamptz NOT NULL,
        team text NOT NULL,
        owner text NOT NULL,
        key_id text NOT NULL,
        action text NOT NULL,
        target text NOT NULL,
        status integer NOT NULL,
        entry json NOT NULL
      );
      CREATE INDEX agentbox_audit_by_time ON agentbox_audit (at, id);
      CREATE INDEX agentbox_audit_by_team ON agentbox_audit (team, at, id);
      CREATE INDEX agentbox_audit_by_key ON agentbox_audit (key_id, at, id);
      CREATE INDEX agentbox_audit_by_target ON agentbox_audit (target, at, id);
    `,
  },
  {
    name: "usage",
    sql: `
      ALTER TABLE agentbox_history ADD COLUMN counted boolean NOT NULL DEFAULT false;
      CREATE INDEX agentbox_history_uncounted ON agentbox_history (kept_since) WHERE NOT counted AND ended_at IS NOT NULL;
      CREATE TABLE agentbox_usage (
        hour integer NOT NULL,
        team text COLLATE "C" NOT NULL,
        owner text COLLATE "C" NOT NULL,
        creates bigint NOT NULL,
        sandbox_seconds float8 NOT NULL,
        cpu_seconds float8 NOT NULL,
        memory_seconds float8 NOT NULL,
        PRIMARY KEY (hour, team, owner)
      );
    `,
  },
  {
    name: "logs",
    sql: `
      CREATE TABLE agentbox_ended_log (
        sandbox_id text COLLATE "C" PRIMARY KEY,
        team text NOT NULL,
        owner text NOT NULL,
        container text NOT NULL,
        kept_at timestamptz NOT NULL,
        truncated boolean NOT NULL,
        bytes integer NOT NULL,
        data bytea NOT NULL
      );
      CREATE INDEX agentbox_ended_log_by_time ON agentbox_ended_log (kept_at);
      CREATE INDEX agentbox_ended_log_by_team ON agentbox_ended_log (team, kept_at, sandbox_id, bytes);
    `,
  },
  { name: "events", sql: eventTables("bigserial PRIMARY KEY") },
  { name: "turns of deliveries", sql: turnIndexes },
  { name: "lists of events", sql: listIndexes },
];
