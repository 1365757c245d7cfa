import type { PoolClient } from "pg";
import { dueMigrations } from "../migrations.ts";
import type { Connections } from "./connection.ts";
import { migrations } from "./schema.ts";

/** Any number that nobody else in the database takes: "AgBh". */
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
