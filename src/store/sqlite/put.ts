import type { DatabaseSync, StatementSync } from "node:sqlite";
import { isDeepStrictEqual } from "node:util";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { mergeRecords } from "../merge-records.ts";
import { inTransaction } from "./connection.ts";

interface Statements {
  readonly read: StatementSync;
  readonly write: StatementSync;
  readonly addPair: StatementSync;
  readonly removePair: StatementSync;
}

/** Puts and takes away records, with their pairs of metadata. */
export class RecordWriter {
  readonly #db: DatabaseSync;
  readonly #statements: Statements;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#statements = {
      read: db.prepare("SELECT record FROM history WHERE sandbox_id = ?"),
      write: db.prepare(`
        INSERT INTO history (sandbox_id, team, owner, pool, env, template, status, claimed_at, ended_at, kept_since, record)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (sandbox_id) DO UPDATE SET
          pool = excluded.pool, env = excluded.env, template = excluded.template, status = excluded.status,
          claimed_at = excluded.claimed_at, ended_at = excluded.ended_at, kept_since = excluded.kept_since, record = excluded.record
      `),
      addPair: db.prepare("INSERT INTO history_metadata (key, value, claimed_at, sandbox_id, team) VALUES (?, ?, ?, ?, ?)"),
      removePair: db.prepare("DELETE FROM history_metadata WHERE key = ? AND value = ? AND claimed_at = ? AND sandbox_id = ?"),
    };
  }

  put(incoming: SandboxRecord): void {
    inTransaction(this.#db, () => {
      const row = this.#statements.read.get(incoming.sandboxId);
      if (row === undefined) {
        this.#write(incoming);
        this.#addPairs(incoming);
        return;
      }
      const stored = parseRecord(row["record"]);
      const merged = mergeRecords(stored, incoming);
      if (isDeepStrictEqual(merged, stored)) return;
      this.#write(merged);
      this.removePairs(stored);
      this.#addPairs(merged);
    });
  }

  removePairs({ metadata, claimedAt, sandboxId }: SandboxRecord): void {
    for (const [key, value] of Object.entries(metadata)) this.#statements.removePair.run(key, value, claimedAt, sandboxId);
  }

  #addPairs({ metadata, claimedAt, sandboxId, team }: SandboxRecord): void {
    for (const [key, value] of Object.entries(metadata)) this.#statements.addPair.run(key, value, claimedAt, sandboxId, team);
  }

  #write(record: SandboxRecord): void {
    const { sandboxId, team, user, poolName, envName, templateName, status, claimedAt, terminatedAt } = record;
    const names = [sandboxId, team, user, poolName, envName ?? null, templateName ?? null, status];
    this.#statements.write.run(...names, claimedAt, terminatedAt ?? null, terminatedAt ?? claimedAt, JSON.stringify(record));
  }
}

/** What RecordWriter wrote, and nobody else. */
export function parseRecord(text: unknown): SandboxRecord {
  return JSON.parse(String(text)) as SandboxRecord;
}
