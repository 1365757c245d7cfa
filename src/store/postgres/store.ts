/** The history in PostgreSQL, shared by all API processes and controllers. */
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { checkedQuery, checkedScope, checkedStatisticsQuery, checkedTime, checkLimit } from "../checked-query.ts";
import { checkedRecord } from "../checked-record.ts";
import type {
  HistoryHealth,
  HistoryPage,
  HistoryQuery,
  HistoryScope,
  HistoryStatistics,
  HistoryStore,
  PruneRequest,
  StatisticsQuery,
} from "../history-store.ts";
import { isInScope } from "../matches-filter.ts";
import { isSandboxId } from "../record-key.ts";
import { type ConnectionOptions, Connections } from "./connection.ts";
import { explainFailure } from "./failures.ts";
import { migrate } from "./migrate.ts";
import { prune } from "./prune.ts";
import { put } from "./put.ts";
import { search } from "./search.ts";
import { statistics } from "./statistics.ts";

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
  readonly #connections: Connections;
  readonly #options: ConnectionOptions;

  constructor(connections: Connections, options: ConnectionOptions) {
    this.#connections = connections;
    this.#options = options;
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

  /** One try: who asks for health wants to know now. */
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
