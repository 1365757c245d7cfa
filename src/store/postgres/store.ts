/** The history in PostgreSQL, shared by all API processes and controllers. */
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { checkedQuery, checkedScope, checkedStatisticsQuery, checkedTime, checkLimit } from "#store/checked-query.ts";
import { checkedRecord } from "#store/checked-record.ts";
import type { AuditStore } from "#store/audit/audit-store.ts";
import { postgresAudit } from "#store/audit/postgres-audit.ts";
import type { LogStore } from "#store/logs/log-store.ts";
import { postgresLogs } from "#store/logs/postgres-logs.ts";
import { addShares, postgresUsage } from "#store/usage/postgres-usage.ts";
import type { UsageStore } from "#store/usage/usage-store.ts";
import type { EventStore } from "#store/events/event-store.ts";
import { SqlEventStore } from "#store/events/sql-event-store.ts";
import type {
  HistoryHealth,
  HistoryPage,
  HistoryQuery,
  HistoryScope,
  HistoryStatistics,
  HistoryStore,
  PruneRequest,
  StatisticsQuery,
} from "#store/history-store.ts";
import { isInScope } from "#store/matches-filter.ts";
import { isSandboxId } from "#store/record-key.ts";
import { type ConnectionOptions, Connections, type Row } from "./connection.ts";
import { explainFailure } from "./failures.ts";
import { migrate } from "./migrate.ts";
import { put } from "./put.ts";
import { search, filterOf, numbered } from "./search.ts";
import { sortedCounts } from "#store/count-by.ts";

/** Throws HistoryError `unavailable` or `misconfigured`. */
export async function openPostgresHistory(options: ConnectionOptions): Promise<HistoryStore> {
  const connections = new Connections(options);
  try {
    await migrate(connections);
    return new PostgresHistory(connections, options);
  } catch (error) {
    await connections.close();
    throw error;
  }
}

class PostgresHistory implements HistoryStore {
  readonly audit: AuditStore;
  readonly usage: UsageStore;
  readonly logs: LogStore;
  readonly #connections: Connections;
  readonly #options: ConnectionOptions;
  readonly events: EventStore;

  constructor(connections: Connections, options: ConnectionOptions) {
    this.#connections = connections;
    this.#options = options;
    this.audit = postgresAudit(connections);
    this.logs = postgresLogs(connections);
    this.usage = postgresUsage(connections);
    this.events = new SqlEventStore((sql, params) => connections.query(numbered(sql), params));
  }

  get description(): string {
    return this.#connections.description;
  }

  async put(record: SandboxRecord): Promise<void> {
    await put(this.#connections, checkedRecord(record));
  }

  async get(sandboxId: string, scope: HistoryScope): Promise<SandboxRecord | undefined> {
    const checked = checkedScope(scope);
    if (!isSandboxId(sandboxId)) return undefined;
    const [row] = await this.#connections.query("SELECT record FROM agentbox_history WHERE sandbox_id = $1", [sandboxId]);
    const record = row?.["record"] as SandboxRecord | undefined; // written by put.ts
    return record !== undefined && isInScope(record, checked) ? deepFreeze(record) : undefined;
  }

  async search(query: HistoryQuery): Promise<HistoryPage> {
    return search(this.#connections, checkedQuery(query));
  }

  async statistics(query: StatisticsQuery): Promise<HistoryStatistics> {
    return statistics(this.#connections, checkedStatisticsQuery(query));
  }

  async prune({ olderThan, limit }: PruneRequest): Promise<number> {
    checkLimit(limit);
    return prune(this.#connections, { olderThan: checkedTime("olderThan", olderThan), limit });
  }

  /** One try: a health check needs its answer now. */
  async health(): Promise<HistoryHealth> {
    const { clock } = this.#options;
    const began = clock.now();
    try {
      await this.#connections.queryOnce("SELECT 1");
      return { ok: true, tookMs: clock.now() - began };
    } catch (error) {
      return { ok: false, problem: explainFailure(error, this.description).message };
    }
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }
}

/** Rows that another process is just about to delete or merge are left to the next step. What was not counted yet is counted with it. */
async function prune(connections: Connections, { olderThan, limit }: PruneRequest): Promise<number> {
  return connections.transaction(async (client) => {
    const { rows } = await client.query<{ record: SandboxRecord; counted: boolean }>(
      `DELETE FROM agentbox_history WHERE sandbox_id IN (
         SELECT sandbox_id FROM agentbox_history WHERE kept_since < $1 ORDER BY kept_since LIMIT $2 FOR UPDATE SKIP LOCKED
       ) RETURNING record, counted OR ended_at IS NULL AS counted`,
      [olderThan, limit],
    );
    await addShares(
      client,
      rows.filter(({ counted }) => !counted),
    );
    return rows.length;
  });
}

/** Four countings in one pass. */
async function statistics(connections: Connections, query: StatisticsQuery): Promise<HistoryStatistics> {
  const { sql, params } = filterOf(query);
  const rows = await connections.query(
    numbered(
      `SELECT status, pool, day, count(*) AS n
       FROM (SELECT h.status, h.pool, to_char(h.claimed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day FROM agentbox_history h WHERE ${sql}) AS s
       GROUP BY GROUPING SETS ((status), (pool), (day), ())`,
    ),
    params,
  );
  const countsOf = (column: string) => sortedCounts(rows.flatMap((row) => count(row, column)));
  return {
    total: Number(rows.find((row) => row["status"] === null && row["pool"] === null && row["day"] === null)?.["n"] ?? 0),
    byStatus: countsOf("status"),
    byPool: countsOf("pool"),
    byDay: countsOf("day"),
  };
}

/** Of the three columns, a row has only the one that it counts by. */
function count(row: Row, column: string): [string, number][] {
  return typeof row[column] === "string" ? [[row[column], Number(row["n"])]] : [];
}
