/**
 * The port to the history: one record for every sandbox that has ended (I3), kept past restarts, pools and pods.
 *
 * - `history-store.ts`   the port
 * - `history-error.ts`   what it throws
 * - `checked-record.ts`  what may be stored, in one form
 * - `checked-query.ts`   what may be asked
 * - `merge-records.ts`   what becomes of two records about one sandbox
 * - `record-key.ts`      the order of all lists, and the cursors into it
 * - `conditions.ts`      the filter in SQL
 * - `matches-filter.ts`  the filter as a function, for what is not in a database
 * - `count-by.ts`        the order of statistics
 * - `join-live.ts`       live and ended sandboxes in one list
 * - `migrations.ts`      which changes of the schema are due
 * - `retention.ts`       forgets what is old
 * - `events/`            what happened to sandboxes, and what of it is to be delivered
 * - `open-history.ts`    chooses the database
 * - `audit/`              the audit log           - `usage/`  usage over time
 * - `logs/`               logs of ended sandboxes
 * - `sqlite/`, `postgres/`  the two databases, with the same file names: `connection.ts`, `failures.ts` (what their errors mean),
 * `schema.ts`, `migrate.ts`, `put.ts`, `search.ts`, `prune.ts`, and `store.ts`, which puts them behind the port.
 *   Beside these, `sqlite/walk.ts` chooses the way through the list, and `postgres/database-url.ts` reads DATABASE_URL.
 *
 * Rules that both keep, and test/history checks on both:
 * - H1: one record per sandbox id, however many processes put it at once, and whichever of them dies (I3, I7).
 * - H2: the first end that is stored is the end. It is never replaced, only completed (merge-records.ts).
 * - H3: what is outside the scope is as if it did not exist (I8). Every call has a scope, except writes.
 * - H4: nothing reads everything: every search examines a bounded number of rows, or is ended by the database.
 */
import type { SandboxRecord, SandboxRecordStatus } from "#model/sandbox-record.ts";
import type { AuditStore } from "./audit/audit-store.ts";
import type { LogStore } from "./logs/log-store.ts";
import type { EventStore } from "./events/event-store.ts";
import type { RecordKey } from "./record-key.ts";
import type { UsageStore } from "./usage/usage-store.ts";

/** Which records the caller sees: an admin all, a tenant those of its team, or of one user in it. */
export type HistoryScope = { readonly kind: "admin" } | { readonly kind: "tenant"; readonly team: string; readonly user?: string };

/** All that is given must hold. Times are ISO 8601; `…After` includes the moment itself, `…Before` does not. */
export interface HistoryFilter {
  readonly scope: HistoryScope;
  readonly pool?: string;
  readonly env?: string;
  readonly template?: string;
  /** Any of these. An empty list matches nothing. */
  readonly status?: readonly SandboxRecordStatus[];
  /** By claimedAt, the moment that orders all lists: startedAt is missing where a start failed. */
  readonly claimedAfter?: string;
  readonly claimedBefore?: string;
  /** By terminatedAt; what has not ended does not match. */
  readonly endedAfter?: string;
  readonly endedBefore?: string;
  /** Every pair must be in the record's metadata. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** How the sandbox id begins. */
  readonly idPrefix?: string;
}

export interface HistoryQuery extends HistoryFilter {
  /** 1 to 1000. */
  readonly limit: number;
  /** Goes on behind this place: the `next` of the page before. */
  readonly after?: RecordKey;
}

/** Newest first. */
export interface HistoryPage {
  readonly records: readonly SandboxRecord[];
  /**
   * Where to go on; absent when there is certainly nothing more. A page may be short, even empty, and still have one: a search
   * that finds little stops after so many rows, and it is for the caller to ask on.
   */
  readonly next?: RecordKey;
}

export interface HistoryCount {
  readonly key: string;
  readonly count: number;
}

/** Each list ordered by key; `byDay` by the UTC day of claimedAt, as `2026-01-31`. */
export interface HistoryStatistics {
  readonly total: number;
  readonly byStatus: readonly HistoryCount[];
  readonly byPool: readonly HistoryCount[];
  readonly byDay: readonly HistoryCount[];
}

/** A filter with a start time, so that leaving something out never counts all of history. */
export interface StatisticsQuery extends HistoryFilter {
  readonly claimedAfter: string;
}

export interface PruneRequest {
  /** Records that ended before this moment go; those without an end, that were claimed before it. */
  readonly olderThan: string;
  /** At most so many at once. */
  readonly limit: number;
}

export type HistoryHealth = { readonly ok: true; readonly tookMs: number } | { readonly ok: false; readonly problem: string };

/** Every method may throw a HistoryError. Records handed out are frozen. */
export interface HistoryStore {
  /** `SQLite in <file>` or `PostgreSQL at <host>/<database>`: for logs and people. */
  readonly description: string;

  /**
   * Stores the record, or merges it into the one that is there (merge-records.ts). When it resolves, the record outlives this
   * process. Putting again what is there changes nothing, so a caller that does not know whether a put succeeded repeats it.
   */
  put(record: SandboxRecord): Promise<void>;

  get(sandboxId: string, scope: HistoryScope): Promise<SandboxRecord | undefined>;

  search(query: HistoryQuery): Promise<HistoryPage>;

  statistics(query: StatisticsQuery): Promise<HistoryStatistics>;

  /** Resolves with how many records went. Several processes may prune at once; they do not wait for each other. */
  prune(request: PruneRequest): Promise<number>;

  /** The audit log, in the same database. */
  readonly audit: AuditStore;

  /** Logs of ended sandboxes, in the same database. */
  readonly logs: LogStore;

  /** Usage over time, in the same database. */
  readonly usage: UsageStore;
  /** Events of sandboxes, in the same database. */
  readonly events: EventStore;

  /** Never throws. */
  health(): Promise<HistoryHealth>;

  close(): Promise<void>;
}
