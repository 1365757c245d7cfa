import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { describeDatabases, type TestDatabases } from "./databases.ts";
import { aRecord, at } from "./records.ts";
import { WriterProcess } from "./writer-process.ts";

const admin = { kind: "admin" } as const;

async function everything(history: HistoryStore): Promise<readonly SandboxRecord[]> {
  const page = await history.search({ scope: admin, limit: 1000 });
  expect(page.next).toBeUndefined();
  return page.records;
}

/** SQLite keeps texts and pairs of metadata beside the rows; no reader may see one without the others. */
function expectWhole(databases: TestDatabases, location: string): void {
  if (databases.name !== "sqlite") return;
  const db = new DatabaseSync(location);
  const rows = db.prepare("SELECT (SELECT count(*) FROM history) - (SELECT count(*) FROM history_record) AS difference").all();
  const [check] = db.prepare("PRAGMA integrity_check").all();
  const pairs = db.prepare("SELECT sandbox_id, key, value FROM history_metadata ORDER BY sandbox_id, key").all();
  const expected = db
    .prepare(`SELECT h.sandbox_id, j.key, j.value FROM history h JOIN history_record r USING (id), json_each(r.record, '$.metadata') j
       ORDER BY h.sandbox_id, j.key`)
    .all();
  db.close();
  expect(check).toEqual({ integrity_check: "ok" });
  expect(pairs).toEqual(expected);
  expect(rows).toEqual([{ difference: 0 }]);
}

describeDatabases("many writers", (databases) => {
  test("20 processes that record different ends of the same sandboxes agree on one end for each (H1, H2)", async () => {
    const location = await databases.location();
    const writers = Array.from({ length: 20 }, (_, index) => new WriterProcess({ location, name: `w${index}`, count: 40 }));
    const ends = await Promise.all(writers.map((writer) => writer.ended));
    expect(ends).toEqual(writers.map(() => ({ code: 0, errors: expect.anything() as string })));

    await using history = await databases.open(location);
    const records = await everything(history);
    expect(records).toHaveLength(40);
    for (const { sandboxId, failureReason, metadata } of records) {
      // Whoever read the end after its own put has read the one that stayed.
      expect(writers.map((writer) => writer.acknowledged.get(sandboxId))).toEqual(writers.map(() => failureReason));
      // And no writer's information was lost.
      expect(Object.keys(metadata)).toHaveLength(21);
    }
    expectWhole(databases, location);
  }, 120_000);

  test("a writer that is killed at any instant has lost nothing that it was told was stored (I3)", async () => {
    const location = await databases.location();
    const told = new Map<string, string>();
    for (let round = 0; round < 8; round++) {
      const writer = new WriterProcess({ location, name: `w${round}`, from: round * 25, count: 400 });
      await writer.killAfter(5 + round * 13);
      for (const [id, end] of writer.acknowledged) if (!told.has(id)) told.set(id, end);
      await using history = await databases.open(location);
      const stored = new Map((await everything(history)).map((record) => [record.sandboxId, record]));
      for (const [id, end] of told) expect(stored.get(id)?.failureReason).toBe(end);
      for (const record of stored.values()) {
        const found = await history.search({ scope: admin, limit: 2, metadata: record.metadata });
        expect(found.records).toEqual([record]);
      }
    }
    expect(told.size).toBeGreaterThan(100);
    expectWhole(databases, location);
  }, 120_000);

  test("processes that start at once on an empty database set it up once", async () => {
    const location = await databases.location();
    const starters = Array.from({ length: 12 }, (_, index) => new WriterProcess({ location, name: `w${index}`, count: 1 }));
    const ends = await Promise.all(starters.map((starter) => starter.ended));
    expect(ends.map(({ code }) => code)).toEqual(starters.map(() => 0));
    await using history = await databases.open(location);
    expect(await everything(history)).toHaveLength(1);
  }, 120_000);

  test("old records are forgotten while new ones are put, by several at once, and nothing else is", async () => {
    const location = await databases.location();
    const stores = await Promise.all([1, 2, 3, 4].map(() => databases.open(location)));
    const [first] = stores;
    if (first === undefined) throw new Error("no store");
    const old = Array.from({ length: 300 }, (_, index) => aRecord(`old${index}`, { claimedAt: at(index), terminatedAt: at(index + 1) }));
    for (const record of old) await first.put(record);

    const fresh = Array.from({ length: 300 }, (_, index) => aRecord(`new${index}`, { claimedAt: at(index), terminatedAt: at(40_000) }));
    const removed = stores.map(async (history) => {
      let count = 0;
      for (let step = 1; step > 0; count += step) step = await history.prune({ olderThan: at(20_000), limit: 20 });
      return count;
    });
    const written = stores.map(async (history, index) => {
      for (const [number, record] of fresh.entries()) if (number % stores.length === index) await history.put(record);
    });
    const counts = await Promise.all(removed);
    await Promise.all(written);

    // Some may have left rows to others that were just at them.
    let left = 0;
    for (let step = 1; step > 0; left += step) step = await first.prune({ olderThan: at(20_000), limit: 100 });
    expect(counts.reduce((sum, count) => sum + count, left)).toBe(300);
    expect((await everything(first)).map((record) => record.sandboxId).sort()).toEqual(fresh.map((record) => record.sandboxId).sort());
    expectWhole(databases, location);
    await Promise.all(stores.map((history) => history.close()));
  }, 60_000);

  test("what has no end is kept from its claim on, and forgotten by it", async () => {
    await using history = await databases.open();
    const { terminatedAt: _, stopReason: __, ...live } = aRecord("live", { claimedAt: at(10), status: "Running" });
    await history.put(live);
    expect(await history.prune({ olderThan: at(10), limit: 10 })).toBe(0);
    expect(await history.prune({ olderThan: at(11), limit: 10 })).toBe(1);
  });

  test("the oldest go first, and no more than were asked for", async () => {
    await using history = await databases.open();
    for (const second of [3, 1, 2]) await history.put(aRecord(`s${second}`, { claimedAt: at(0), terminatedAt: at(second) }));
    expect(await history.prune({ olderThan: at(100), limit: 2 })).toBe(2);
    expect((await everything(history)).map((record) => record.sandboxId)).toEqual(["s3"]);
    await expect(history.prune({ olderThan: "x", limit: 1 })).rejects.toMatchObject({ code: "invalid" });
  });
});
