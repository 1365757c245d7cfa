import type { DatabaseSync, StatementSync } from "node:sqlite";
import { after } from "#lib/sorted-entries.ts";
import { SpareSpace } from "#lib/sqlite-space.ts";

/** One write as it is kept: the object's state from this version on, or its end. */
export interface Revision {
  readonly rv: number;
  /** The log's own number of the resource, see `resourceId`. */
  readonly resource: number;
  /** `namespace/name`, or `name` for cluster-scoped kinds. */
  readonly key: string;
  readonly writtenAt: number;
  /** See collector-note.ts. */
  readonly note: string | undefined;
  /** The object as JSON; undefined for a removal. */
  readonly data: string | undefined;
}

export interface NewestRevision {
  readonly resource: number;
  readonly key: string;
  readonly rv: number;
  readonly note: string | undefined;
}

export interface LoggedChange {
  readonly rv: number;
  readonly key: string;
  readonly data: string | undefined;
  /** The state before, from the next older revision of the key; undefined if there was none or it was a removal. */
  readonly before: string | undefined;
}

export interface SnapshotRow {
  readonly key: string;
  readonly rv: number;
  readonly deleted: boolean;
}

/**
 * All revisions of all objects, oldest first: the only thing that is ever written. An object is its newest revision, an
 * event is a revision together with the next older one of its key, and history ends at the compacted version.
 */
export class RevisionLog {
  readonly #db: DatabaseSync;
  readonly #statements: ReturnType<typeof prepareStatements>;
  readonly #space: SpareSpace;
  readonly #resourceIds = new Map<string, number>();
  #compacted: number;
  #revisions = 0;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#statements = prepareStatements(db);
    // This process alone has the file, so there are no readers to wait for.
    this.#space = new SpareSpace(db, "TRUNCATE");
    this.#compacted = Number(this.#statements.compacted.get()?.["value"]);
    for (const row of db.prepare("SELECT id, name FROM resources").all()) this.#resourceIds.set(String(row["name"]), Number(row["id"]));
  }

  /** Below this version history has been thinned out: only what was current at it is left. */
  get compacted(): number {
    return this.#compacted;
  }

  get revisions(): number {
    return this.#revisions;
  }

  /** The newest version that was ever given, also if its revision is compacted away: no version is given twice. */
  newest(): number {
    const row = this.#db.prepare("SELECT coalesce(max(rv), 0) AS rv FROM revisions").get();
    return Math.max(this.#compacted, Number(row?.["rv"]));
  }

  /** A small lasting number for a resource, so that its name is not repeated in every revision. */
  resourceId(name: string): number {
    const known = this.#resourceIds.get(name);
    if (known !== undefined) return known;
    const id = Number(this.#db.prepare("INSERT INTO resources (name) VALUES (?)").run(name).lastInsertRowid);
    this.#resourceIds.set(name, id);
    return id;
  }

  /** The objects that are there, by resource and key. Read from the index alone. Also counts the revisions, so call it once at start. */
  *live(): Generator<NewestRevision> {
    this.#revisions = 0;
    for (const row of this.#statements.live.iterate()) {
      // The statement returns arrays: 100,000 rows of objects take three times as long.
      const [resource, key, rv, deleted, note, count] = row as unknown as readonly unknown[];
      this.#revisions += Number(count);
      if (deleted === 0) yield { resource: Number(resource), key: String(key), rv: Number(rv), note: textOrNothing(note) };
    }
  }

  /** Writes revisions, all or none. When it returns, they survive the death of the process. */
  append(revisions: readonly Revision[]): void {
    if (revisions.length === 1 && revisions[0] !== undefined) this.#insert(revisions[0]);
    else this.#inTransaction(() => revisions.forEach((revision) => this.#insert(revision)));
    this.#revisions += revisions.length;
  }

  #insert({ rv, resource, key, writtenAt, note, data }: Revision): void {
    this.#statements.insert.run(rv, resource, key, data === undefined ? 1 : 0, writtenAt, note ?? null, data ?? null);
  }

  /** The JSON that was written as this version. */
  data(rv: number): string | undefined {
    return textOrNothing(this.#statements.data.get(rv)?.["data"]);
  }

  /** Changes of one resource in (from, to], oldest first. Fewer than `limit` means that there are no more. */
  changes(resource: number, from: number, to: number, limit: number): LoggedChange[] {
    return this.#statements.changes.all(from, to, resource, limit).map((row) => {
      const [rv, key] = [Number(row["rv"]), String(row["key"])];
      const before = this.#statements.before.get(resource, key, rv);
      return { rv, key, data: textOrNothing(row["data"]), before: textOrNothing(before?.["data"]) };
    });
  }

  /** The keys of a prefix above `from` as they stood at a version, removed ones included, at most `limit`. */
  snapshot(resource: number, range: { readonly prefix: string; readonly from: string }, rv: number, limit: number): SnapshotRow[] {
    const low = range.from > range.prefix ? range.from : range.prefix;
    // No key begins with the last character there is.
    const high = range.prefix === "" ? "\uffff" : after(range.prefix);
    return this.#statements.snapshot.all(resource, low, high, rv, limit).map((row) => ({
      key: String(row["key"]),
      rv: Number(row["rv"]),
      deleted: row["deleted"] === 1,
    }));
  }

  /** The newest version that was written at or before this time, 0 if none that is still known. */
  newestAt(time: number): number {
    let [low, high] = [0, this.newest()];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      const row = this.#statements.writtenAt.get(middle);
      if (row !== undefined && Number(row["written_at"]) <= time) low = Number(row["rv"]);
      else high = middle - 1;
    }
    return low;
  }

  /** When the next revisions after the compacted version were written, oldest first. */
  oldest(limit: number): { readonly rv: number; readonly writtenAt: number }[] {
    return this.#statements.oldest
      .all(this.#compacted, limit)
      .map((row) => ({ rv: Number(row["rv"]), writtenAt: Number(row["written_at"]) }));
  }

  /** Forgets what was already history at `rv`: older states of keys that changed since the last compaction, and removals. */
  compact(rv: number): void {
    this.#inTransaction(() => {
      const superseded = this.#statements.dropSuperseded.run(this.#compacted, rv);
      const removals = this.#statements.dropRemovals.run(this.#compacted, rv);
      this.#statements.setCompacted.run(rv);
      this.#revisions -= Number(superseded.changes) + Number(removals.changes);
    });
    this.#compacted = rv;
  }

  /** Gives some of the space that is of no use back to the disk. True: there is more. */
  giveBackSome(): boolean {
    return this.#space.giveBackSome();
  }

  #inTransaction(work: () => void): void {
    this.#db.exec("BEGIN");
    try {
      work();
      this.#db.exec("COMMIT");
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw error;
    }
  }
}

function prepareStatements(db: DatabaseSync) {
  const live = db.prepare("SELECT resource, key, max(rv), deleted, note, count(*) FROM revisions GROUP BY resource, key");
  live.setReturnArrays(true);
  return {
    live,
    compacted: db.prepare("SELECT value FROM numbers WHERE name = 'compacted'"),
    setCompacted: db.prepare("UPDATE numbers SET value = ? WHERE name = 'compacted'"),
    insert: db.prepare("INSERT INTO revisions (rv, resource, key, deleted, written_at, note, data) VALUES (?, ?, ?, ?, ?, ?, ?)"),
    data: db.prepare("SELECT data FROM revisions WHERE rv = ?"),
    before: db.prepare("SELECT data FROM revisions WHERE resource = ? AND key = ? AND rv < ? ORDER BY rv DESC LIMIT 1"),
    // The plus keeps SQLite from walking all keys of the resource instead of the few newest revisions.
    changes: db.prepare("SELECT rv, key, data FROM revisions WHERE rv > ? AND rv <= ? AND +resource = ? ORDER BY rv LIMIT ?"),
    snapshot: db.prepare(
      "SELECT key, max(rv) AS rv, deleted FROM revisions WHERE resource = ? AND key >= ? AND key < ? AND rv <= ? GROUP BY key ORDER BY key LIMIT ?",
    ),
    writtenAt: db.prepare("SELECT rv, written_at FROM revisions WHERE rv >= ? ORDER BY rv LIMIT 1"),
    oldest: db.prepare("SELECT rv, written_at FROM revisions WHERE rv > ? ORDER BY rv LIMIT ?"),
    dropSuperseded: db.prepare(`
      DELETE FROM revisions WHERE rv IN (
        SELECT older.rv FROM revisions AS newer
        JOIN revisions AS older ON older.resource = newer.resource AND older.key = newer.key AND older.rv < newer.rv
        WHERE newer.rv > ? AND newer.rv <= ?)
    `),
    dropRemovals: db.prepare("DELETE FROM revisions WHERE rv > ? AND rv <= ? AND deleted = 1"),
  } satisfies Record<string, StatementSync>;
}

function textOrNothing(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
