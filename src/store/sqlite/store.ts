/** The history in one SQLite file: the default, for AgentBox on one machine. */
import type { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import type { Clock } from "#lib/clock.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import { SpareSpace } from "#lib/sqlite-space.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { checkedQuery, checkedScope, checkedStatisticsQuery, checkLimit, checkedTime } from "#store/checked-query.ts";
import { checkedRecord } from "#store/checked-record.ts";
import type { AuditStore } from "#store/audit/audit-store.ts";
import { sqliteAudit } from "#store/audit/sqlite-audit.ts";
import type { LogStore } from "#store/logs/log-store.ts";
import { sqliteLogs } from "#store/logs/sqlite-logs.ts";
import { sqliteUsage } from "#store/usage/sqlite-usage.ts";
import type { UsageStore } from "#store/usage/usage-store.ts";
import type { EventStore } from "#store/events/event-store.ts";
import { SqlEventStore } from "#store/events/sql-event-store.ts";
import { HistoryError } from "#store/history-error.ts";
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
import { openSqlite, type SqliteOptions } from "./connection.ts";
import { explainFailure, isBusy } from "./failures.ts";
import { prune } from "./prune.ts";
import { RecordWriter } from "./put.ts";
import { defaultLimits, search, type SearchLimits, dialect } from "./search.ts";
import { conditionsOf } from "#store/conditions.ts";
import { sortedCounts } from "#store/count-by.ts";
import { type Window, windowsOf, withinWindow } from "./walk.ts";

export interface SqliteHistoryOptions extends SqliteOptions {
  readonly limits?: SearchLimits;
}

export async function openSqliteHistory(options: SqliteHistoryOptions): Promise<HistoryStore> {
  return new SqliteHistory(await openSqlite(options), options);
}

class SqliteHistory implements HistoryStore {
  readonly description: string;
  readonly audit: AuditStore;
  readonly usage: UsageStore;
  readonly logs: LogStore;
  readonly #file: string;
  readonly #db: DatabaseSync;
  readonly #writer: RecordWriter;
  readonly #space: SpareSpace;
  readonly #clock: Clock;
  readonly #limits: SearchLimits;
  readonly events: EventStore;

  constructor(db: DatabaseSync, { file, clock, limits = defaultLimits }: SqliteHistoryOptions) {
    this.description = `SQLite in ${file}`;
    this.#file = file;
    this.#db = db;
    this.#writer = new RecordWriter(db);
    this.#space = new SpareSpace(db, "PASSIVE");
    this.#clock = clock;
    this.#limits = limits;
    this.audit = sqliteAudit(db, (work) => this.#run(work), limits);
    this.logs = sqliteLogs(db, (work) => this.#run(work));
    this.usage = sqliteUsage(db, (work) => this.#run(work));
    this.events = new SqlEventStore((sql, params) => this.#run(() => db.prepare(sql).all(...params)));
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
    const removed = await this.#run(() => prune(this.#db, this.#writer, checked));
    // A full step is not the last one: what comes free is given back at the end.
    if (removed < limit) await this.#giveSpaceBack();
    return removed;
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

  /** A little at a time, so that others get to run in between. Another process that writes, or the end, stops it: the next round goes on. */
  async #giveSpaceBack(): Promise<void> {
    try {
      while (this.#db.isOpen && this.#space.giveBackSome()) await setImmediate();
    } catch (error) {
      if (!isBusy(error)) throw explainFailure(this.#file, error);
    }
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

/** Counts window by window, so that others run in between; each window is counted inside SQLite. */
export async function statistics(db: DatabaseSync, query: StatisticsQuery, windowRows: number): Promise<HistoryStatistics> {
  const counts = { byStatus: new Map<string, number>(), byPool: new Map<string, number>(), byDay: new Map<string, number>() };
  let total = 0;
  for await (const window of windowsOf(db, query, windowRows)) {
    for (const row of countWindow(db, window, query)) {
      total += Number(row["n"]);
      for (const by of ["byStatus", "byPool", "byDay"] as const) {
        const key = String(row[by]);
        counts[by].set(key, (counts[by].get(key) ?? 0) + Number(row["n"]));
      }
    }
  }
  return { total, byStatus: sortedCounts(counts.byStatus), byPool: sortedCounts(counts.byPool), byDay: sortedCounts(counts.byDay) };
}

function countWindow(db: DatabaseSync, window: Window, query: StatisticsQuery): Record<string, unknown>[] {
  const within = withinWindow(window);
  const filter = conditionsOf(query, dialect);
  return db
    .prepare(
      `SELECT h.status AS byStatus, h.pool AS byPool, date(h.claimed_at / 1000, 'unixepoch') AS byDay, count(*) AS n
       FROM ${window.walk.rows} WHERE ${within.sql} AND ${filter.sql} GROUP BY 1, 2, 3`,
    )
    .all(...within.params, ...filter.params);
}
