import type { DatabaseSync, StatementSync } from "node:sqlite";
import { isDeepStrictEqual } from "node:util";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { mergeRecords } from "../merge-records.ts";
import { usageWriter } from "../usage/sqlite-usage.ts";
import { type UsageShare, usageShares } from "../usage/usage-shares.ts";
import { inTransaction } from "./connection.ts";

export interface StoredRecord {
  readonly id: number;
  readonly record: SandboxRecord;
}

/** Puts and takes away records, each with its row, its text and its pairs of metadata. */
export class RecordWriter {
  readonly #db: DatabaseSync;
  readonly #read: StatementSync;
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #isCounted: StatementSync;
  readonly #addUsage: (shares: readonly UsageShare[]) => void;
  readonly #remove: StatementSync;
  readonly #writeText: StatementSync;
  readonly #removeText: StatementSync;
  readonly #addPair: StatementSync;
  readonly #removePair: StatementSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#read = db.prepare("SELECT id, record FROM history JOIN history_record USING (id) WHERE sandbox_id = ?");
    this.#insert = db.prepare(`
      INSERT INTO history (sandbox_id, team, owner, pool, env, template, status, claimed_at, ended_at, kept_since)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    `);
    this.#update = db.prepare(`
      UPDATE history SET (sandbox_id, team, owner, pool, env, template, status, claimed_at, ended_at, kept_since)
        = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?), counted = CASE WHEN claimed_at = ? THEN counted ELSE 0 END WHERE id = ?
    `);
    this.#isCounted = db.prepare("SELECT counted FROM history WHERE id = ?");
    this.#addUsage = usageWriter(db);
    this.#remove = db.prepare("DELETE FROM history WHERE id = ?");
    this.#writeText = db.prepare("INSERT OR REPLACE INTO history_record (id, record) VALUES (?, ?)");
    this.#removeText = db.prepare("DELETE FROM history_record WHERE id = ?");
    this.#addPair = db.prepare("INSERT INTO history_metadata (key, value, claimed_at, sandbox_id) VALUES (?, ?, ?, ?)");
    this.#removePair = db.prepare("DELETE FROM history_metadata WHERE key = ? AND value = ? AND claimed_at = ? AND sandbox_id = ?");
  }

  read(sandboxId: string): StoredRecord | undefined {
    const row = this.#read.get(sandboxId);
    return row === undefined ? undefined : { id: Number(row["id"]), record: parseRecord(row["record"]) };
  }

  put(incoming: SandboxRecord): void {
    inTransaction(this.#db, () => {
      const stored = this.read(incoming.sandboxId);
      if (stored === undefined) {
        const { lastInsertRowid } = this.#insert.run(...columnsOf(incoming));
        this.#writeRest(Number(lastInsertRowid), incoming);
        return;
      }
      const merged = mergeRecords(stored.record, incoming);
      if (isDeepStrictEqual(merged, stored.record)) return;
      this.#countFormerLife(stored, merged);
      this.#update.run(...columnsOf(merged), Date.parse(merged.claimedAt), stored.id);
      this.#removePairs(stored.record);
      this.#writeRest(stored.id, merged);
    });
  }

  /** In a transaction of the caller. */
  remove({ id, record }: StoredRecord): void {
    this.#remove.run(id);
    this.#removeText.run(id);
    this.#removePairs(record);
  }

  /** The record of a later life takes its place, so its usage is counted now. */
  #countFormerLife({ id, record }: StoredRecord, merged: SandboxRecord): void {
    if (record.claimedAt === merged.claimedAt || record.terminatedAt === undefined) return;
    if (this.#isCounted.get(id)?.["counted"] === 0) this.#addUsage(usageShares(record));
  }

  #writeRest(id: number, record: SandboxRecord): void {
    this.#writeText.run(id, JSON.stringify(record));
    const claimedAt = Date.parse(record.claimedAt);
    for (const [key, value] of Object.entries(record.metadata)) this.#addPair.run(key, value, claimedAt, record.sandboxId);
  }

  #removePairs(record: SandboxRecord): void {
    const claimedAt = Date.parse(record.claimedAt);
    for (const [key, value] of Object.entries(record.metadata)) this.#removePair.run(key, value, claimedAt, record.sandboxId);
  }
}

function columnsOf(record: SandboxRecord): (string | number | null)[] {
  const { sandboxId, team, user, poolName, envName, templateName, status } = record;
  const claimedAt = Date.parse(record.claimedAt);
  const endedAt = record.terminatedAt === undefined ? null : Date.parse(record.terminatedAt);
  return [sandboxId, team, user, poolName, envName ?? null, templateName ?? null, status, claimedAt, endedAt, endedAt ?? claimedAt];
}

/** Reads what RecordWriter wrote. */
export function parseRecord(text: unknown): SandboxRecord {
  return JSON.parse(String(text)) as SandboxRecord;
}
