/** Usage over time in SQLite. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import type { Run } from "../audit/sqlite-audit.ts";
import { inTransaction } from "../sqlite/connection.ts";
import { usageConditions } from "./usage-conditions.ts";
import { UsageRows } from "./usage-rows.ts";
import { hourMs, storedShare, summedShares, type UsageShare, usageShares } from "./usage-shares.ts";
import type { UsageQuery, UsageRow, UsageStore } from "./usage-store.ts";

/** Hours that one statement adds up. */
const stretchHours = 24;

export function sqliteUsage(db: DatabaseSync, run: Run): UsageStore {
  const add = usageWriter(db);
  const mark = db.prepare("UPDATE history SET counted = 1 WHERE id = ?");
  return {
    count: (limit) =>
      run(() =>
        inTransaction(db, () => {
          const rows = db
            .prepare(
              `SELECT id, record FROM history INDEXED BY history_uncounted JOIN history_record USING (id)
               WHERE counted = 0 AND ended_at IS NOT NULL LIMIT ?`,
            )
            .all(limit);
          add(rows.flatMap((row) => usageShares(JSON.parse(String(row["record"])) as SandboxRecord)));
          for (const row of rows) mark.run(Number(row["id"]));
          return rows.length;
        }),
      ),
    report: (query) => run(() => report(db, query)),
    prune: (olderThanMs) =>
      run(() => {
        db.prepare("DELETE FROM usage WHERE hour < ?").run(Math.floor(olderThanMs / hourMs));
      }),
  };
}

/** Adds shares, in a transaction of the caller. */
export function usageWriter(db: DatabaseSync): (shares: readonly UsageShare[]) => void {
  const upsert: StatementSync = db.prepare(
    `INSERT INTO usage (hour, team, owner, creates, sandbox_seconds, cpu_seconds, memory_seconds) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (hour, team, owner) DO UPDATE SET creates = creates + excluded.creates,
       sandbox_seconds = sandbox_seconds + excluded.sandbox_seconds, cpu_seconds = cpu_seconds + excluded.cpu_seconds,
       memory_seconds = memory_seconds + excluded.memory_seconds`,
  );
  return (shares) => {
    for (const { hour, team, user, creates, sandboxSeconds, cpuSeconds, memoryGibSeconds } of summedShares(shares)) {
      upsert.run(hour, team, user, creates, sandboxSeconds, cpuSeconds, memoryGibSeconds);
    }
  };
}

/** Day by day, so that others get to run in between. */
async function report(db: DatabaseSync, query: UsageQuery): Promise<readonly UsageRow[]> {
  const rows = new UsageRows(query);
  const { sql, params } = usageConditions(query);
  const read = db.prepare(`SELECT * FROM usage u WHERE u.hour >= ? AND u.hour < ? AND ${sql}`);
  const last = Math.ceil(query.toMs / hourMs);
  for (let hour = Math.floor(query.fromMs / hourMs); hour < last; hour += stretchHours) {
    for (const row of read.all(hour, Math.min(last, hour + stretchHours), ...params)) rows.add(storedShare(row));
    await setImmediate();
  }
  return rows.all();
}
