/** The history in one SQLite file: the default, for AgentBox on one machine. */
import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "#lib/clock.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { checkedQuery, checkedScope, checkedStatisticsQuery, checkLimit, checkedTime } from "../checked-query.ts";
import { checkedRecord } from "../checked-record.ts";
import { HistoryError } from "../history-error.ts";
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
import { openSqlite, type SqliteOptions } from "./connection.ts";
import { explainFailure } from "./failures.ts";
import { prune } from "./prune.ts";
import { RecordWriter } from "./put.ts";
import { defaultLimits, search, type SearchLimits } from "./search.ts";
import { statistics } from "./statistics.ts";

export interface SqliteHistoryOptions extends SqliteOptions {
  readonly limits?: SearchLimits;
}

export async function openSqliteHistory(options: SqliteHistoryOptions): Promise<HistoryStore> {
  return new SqliteHistory(await openSqlite(options), options);
}

class SqliteHistory implements HistoryStore {
  readonly description: string;
  readonly #file: string;
  readonly #db: DatabaseSync;
  readonly #writer: RecordWriter;
  readonly #clock: Clock;
  readonly #limits: SearchLimits;

  constructor(db: DatabaseSync, { file, clock, limits = defaultLimits }: SqliteHistoryOptions) {
    this.description = `SQLite in ${file}`;
    this.#file = file;
    this.#db = db;
    this.#writer = new RecordWriter(db);
    this.#clock = clock;
    this.#limits = limits;
  }

  async put(record: SandboxRecord): Promise<void> {
    const checked = checkedRecord(record);
    await this.#run(() => this.#writer.put(checked));
  }

  async get(sandboxId: string, scope: HistoryScope): Promise<SandboxRecord | undefined> {
    const checked = checkedScope(scope);
    return this.#run(() => {
      const stored = this.#writer.read(sandboxId);
      return stored !== undefined && isInScope(stored.record, checked) ? deepFreeze(stored.record) : undefined;
    });
  }

  async search(query: HistoryQuery): Promise<HistoryPage> {
    const checked = checkedQuery(query);
    return this.#run(() => search(this.#db, checked, this.#limits));
  }

  async statistics(query: StatisticsQuery): Promise<HistoryStatistics> {
    const checked = checkedStatisticsQuery(query);
    return this.#run(() => statistics(this.#db, checked, this.#limits.windowRows));
  }

  async prune({ olderThan, limit }: PruneRequest): Promise<number> {
    checkLimit(limit);
    const checked = { olderThan: checkedTime("olderThan", olderThan), limit };
    return this.#run(() => prune(this.#db, this.#writer, checked));
  }

  async health(): Promise<HistoryHealth> {
    const began = this.#clock.now();
    try {
      await this.#run(() => this.#db.prepare("SELECT max(version) FROM migrations").get());
      return { ok: true, tookMs: this.#clock.now() - began };
    } catch (error) {
      return { ok: false, problem: error instanceof Error ? error.message : String(error) };
    }
  }

  async close(): Promise<void> {
    if (this.#db.isOpen) this.#db.close();
  }

  async #run<T>(work: () => T | Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!this.#db.isOpen) throw new HistoryError("closed", `the history (${this.description}) is closed`, { cause: error });
      throw explainFailure(this.#file, error);
    }
  }
}
