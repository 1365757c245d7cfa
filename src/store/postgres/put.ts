import { isDeepStrictEqual } from "node:util";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { HistoryError } from "../history-error.ts";
import { mergeRecords } from "../merge-records.ts";
import { countRecords } from "../usage/postgres-usage.ts";
import type { Connections } from "./connection.ts";

/** Merging only ever adds, so the same few writers cannot overtake each other for long. */
const maxRounds = 100;

const columns = "sandbox_id, team, owner, pool, env, template, status, claimed_at, ended_at, kept_since, metadata, record";

/**
 * One statement when the record is new. Otherwise it is merged with the stored record and written over exactly that revision: if
 * another revision is in its place, the write lost a race and merges again with the newer one.
 */
export async function put(connections: Connections, incoming: SandboxRecord): Promise<void> {
  for (let round = 0; round < maxRounds; round++) {
    if (await insert(connections, incoming)) return;
    const [row] = await connections.query("SELECT record, revision FROM agentbox_history WHERE sandbox_id = $1", [incoming.sandboxId]);
    // Gone since: forgotten as too old in this very moment.
    if (row === undefined) continue;
    const stored = row["record"] as SandboxRecord; // written by us, below
    const merged = mergeRecords(stored, incoming);
    // The record of a later life takes the place of the former one, so that one's usage is counted first.
    if (merged.claimedAt !== stored.claimedAt && stored.terminatedAt !== undefined) {
      await countRecords(connections, { limit: 1, sandboxId: incoming.sandboxId });
    }
    if (isDeepStrictEqual(merged, stored) || (await replace(connections, merged, Number(row["revision"])))) return;
  }
  throw new HistoryError("unavailable", `${connections.description}: the record of ${incoming.sandboxId} changed too often to be merged`);
}

async function insert(connections: Connections, record: SandboxRecord): Promise<boolean> {
  const done = await connections.query(
    `INSERT INTO agentbox_history (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
     ON CONFLICT (sandbox_id) DO NOTHING RETURNING 1`,
    values(record),
  );
  return done.length === 1;
}

async function replace(connections: Connections, record: SandboxRecord, revision: number): Promise<boolean> {
  const done = await connections.query(
    `UPDATE agentbox_history SET (${columns}, revision, counted)
       = ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 + 1, counted AND claimed_at = $8)
     WHERE sandbox_id = $1 AND revision = $13 RETURNING 1`,
    [...values(record), revision],
  );
  return done.length === 1;
}

function values(record: SandboxRecord): readonly unknown[] {
  const { sandboxId, team, user, poolName, envName, templateName, status, claimedAt, terminatedAt, metadata } = record;
  const times = [claimedAt, terminatedAt ?? null, terminatedAt ?? claimedAt];
  const names = [sandboxId, team, user, poolName, envName ?? null, templateName ?? null, status];
  return [...names, ...times, JSON.stringify(metadata), JSON.stringify(record)];
}
