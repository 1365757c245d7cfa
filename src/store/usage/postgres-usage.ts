/** Usage over time in PostgreSQL, counted by any of the processes. */
import type { PoolClient } from "pg";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import type { Connections } from "../postgres/connection.ts";
import { numbered } from "../postgres/search.ts";
import { usageConditions } from "./usage-conditions.ts";
import { UsageRows } from "./usage-rows.ts";
import { hourMs, storedShare, summedShares, usageShares } from "./usage-shares.ts";
import type { UsageQuery, UsageRow, UsageStore } from "./usage-store.ts";

export function postgresUsage(connections: Connections): UsageStore {
  return {
    count: (limit) => countRecords(connections, { limit }),
    report: (query) => report(connections, query),
    prune: async (olderThanMs) => {
      await connections.query("DELETE FROM agentbox_usage WHERE hour < $1", [Math.floor(olderThanMs / hourMs)]);
    },
  };
}

/** Records that another process counts in this moment are left to it; one that was asked for by its id is waited for. */
export function countRecords(
  connections: Connections,
  { limit, sandboxId }: { readonly limit: number; readonly sandboxId?: string },
): Promise<number> {
  return connections.transaction(async (client) => {
    const one = sandboxId === undefined ? "" : "AND sandbox_id = $2";
    const { rows } = await client.query<{ sandbox_id: string; record: SandboxRecord }>(
      `SELECT sandbox_id, record FROM agentbox_history WHERE NOT counted AND ended_at IS NOT NULL ${one}
       LIMIT $1 FOR UPDATE ${sandboxId === undefined ? "SKIP LOCKED" : ""}`,
      sandboxId === undefined ? [limit] : [limit, sandboxId],
    );
    if (rows.length === 0) return 0;
    await addShares(client, rows);
    await client.query("UPDATE agentbox_history SET counted = true WHERE sandbox_id = ANY($1)", [rows.map((row) => row.sandbox_id)]);
    return rows.length;
  });
}

/** Adds the hours of records, in a transaction of the caller. */
export async function addShares(client: PoolClient, rows: readonly { readonly record: SandboxRecord }[]): Promise<void> {
  if (rows.length === 0) return;
  const shares = summedShares(rows.flatMap(({ record }) => usageShares(record)));
  await client.query(
    `INSERT INTO agentbox_usage AS u (hour, team, owner, creates, sandbox_seconds, cpu_seconds, memory_seconds)
     SELECT hour, team, "user", creates, "sandboxSeconds", "cpuSeconds", "memoryGibSeconds" FROM json_to_recordset($1) AS r(
       hour integer, team text, "user" text, creates bigint, "sandboxSeconds" float8, "cpuSeconds" float8, "memoryGibSeconds" float8)
     ON CONFLICT (hour, team, owner) DO UPDATE SET creates = u.creates + excluded.creates,
       sandbox_seconds = u.sandbox_seconds + excluded.sandbox_seconds, cpu_seconds = u.cpu_seconds + excluded.cpu_seconds,
       memory_seconds = u.memory_seconds + excluded.memory_seconds`,
    [JSON.stringify(shares)],
  );
}

/** The database adds up the hours of a day; the rest is done here, as for SQLite. */
async function report(connections: Connections, query: UsageQuery): Promise<readonly UsageRow[]> {
  const { sql, params } = usageConditions(query);
  const [from, to] = [Math.floor(query.fromMs / hourMs), Math.ceil(query.toMs / hourMs)];
  const group = query.step === "hour" ? "u.hour" : `greatest(${from}, u.hour / 24 * 24)`;
  const owner = query.by === "user" ? "u.owner" : "''";
  const found = await connections.query(
    numbered(
      `SELECT ${group} AS hour, u.team, ${owner} AS owner, sum(creates) AS creates, sum(sandbox_seconds) AS sandbox_seconds,
         sum(cpu_seconds) AS cpu_seconds, sum(memory_seconds) AS memory_seconds
       FROM agentbox_usage u WHERE u.hour >= ? AND u.hour < ? AND ${sql} GROUP BY 1, 2, 3`,
    ),
    [from, to, ...params],
  );
  // The owners are chosen by the statement already.
  const { user: _, ...asked } = query;
  const rows = new UsageRows({ ...asked, scope: { kind: "admin" } });
  for (const row of found) rows.add(storedShare(row));
  return rows.all();
}
