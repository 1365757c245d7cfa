import { expect, test } from "vitest";
import type { HistoryStore } from "#store/history-store.ts";
import type { UsageQuery, UsageRow } from "#store/usage/usage-store.ts";
import { describeDatabases } from "./databases.ts";
import { aLiveRecord, aRecord } from "./records.ts";

const day = Date.UTC(2026, 2, 10);
const hourMs = 3_600_000;
const admin = { kind: "admin" } as const;
const clock = (hours: number): string => new Date(day + hours * hourMs).toISOString();

function query(more: Partial<UsageQuery> = {}): UsageQuery {
  return { scope: admin, fromMs: day, toMs: day + 48 * hourMs, step: "hour", by: "user", ...more };
}

async function report(history: HistoryStore, more: Partial<UsageQuery> = {}): Promise<unknown[]> {
  return (await history.usage.report(query(more))).map((row: UsageRow) => [
    (row.startMs - day) / hourMs,
    row.user === undefined ? row.team : `${row.team}/${row.user}`,
    row.creates,
    Math.round(row.sandboxSeconds),
    Math.round(row.cpuSeconds),
    Math.round(row.memoryGibSeconds),
  ]);
}

/** Without a size, unless a test gives it one. */
function aLife(id: string, more: Parameters<typeof aRecord>[1]): ReturnType<typeof aRecord> {
  return aRecord(id, { cpu: "0", memory: "0", ...more });
}

const sized = { cpu: "500m", memory: "2Gi" };

describeDatabases("usage over time", (databases) => {
  test("a life is cut into the hours of the clock, and a create counts where it was claimed", async () => {
    await using history = await databases.open();
    await history.put(aLife("a", { claimedAt: clock(0.5), terminatedAt: clock(2.25), team: "red", user: "ann", ...sized }));
    await history.put(aLife("b", { claimedAt: clock(2), terminatedAt: clock(2.5), team: "red", user: "ann" }));
    expect(await history.usage.count(100)).toBe(2);
    expect(await report(history)).toEqual([
      [0, "red/ann", 1, 1800, 900, 3600],
      [1, "red/ann", 0, 3600, 1800, 7200],
      [2, "red/ann", 1, 900 + 1800, 450, 1800],
    ]);
  });

  test("hours add up to days and to all, of users and of teams, in the scope that asks", async () => {
    await using history = await databases.open();
    const lives = [
      ["red", "ann", 1],
      ["red", "bob", 2],
      ["blue", "eve", 30],
    ] as const;
    for (const [team, user, from] of lives) {
      await history.put(aLife(user, { claimedAt: clock(from), terminatedAt: clock(from + 1), team, user, ...sized }));
    }
    await history.usage.count(100);
    expect(await report(history, { step: "day", by: "team" })).toEqual([
      [0, "red", 2, 7200, 3600, 14_400],
      [24, "blue", 1, 3600, 1800, 7200],
    ]);
    expect(await report(history, { step: "all", by: "team", team: "red" })).toEqual([[0, "red", 2, 7200, 3600, 14_400]]);
    expect(await report(history, { step: "all", scope: { kind: "tenant", team: "red", user: "bob" } })).toEqual([
      [0, "red/bob", 1, 3600, 1800, 7200],
    ]);
    expect(await report(history, { step: "all", by: "team", scope: { kind: "tenant", team: "red" }, team: "blue" })).toEqual([]);
  });

  test("U1: each end is counted once, however often and by however many it is counted and put", async () => {
    await using history = await databases.open();
    const records = Array.from({ length: 30 }, (_, index) =>
      aRecord(`s${index}`, { claimedAt: clock(1), terminatedAt: clock(2), ...sized }),
    );
    for (const record of records) await history.put(record);
    const counted = await Promise.all(Array.from({ length: 8 }, () => history.usage.count(7)));
    for (const record of records) await history.put({ ...record, exitCode: 0 });
    while ((await history.usage.count(7)) > 0);
    expect(counted.reduce((sum, some) => sum + some, 0)).toBeLessThanOrEqual(30);
    expect((await report(history, { step: "all", by: "team" })).map((row) => (row as unknown[]).slice(2))).toEqual([
      [30, 30 * 3600, 30 * 1800, 30 * 7200],
    ]);
  });

  test("U1: a second life of a sandbox is counted beside its first, counted before or not", async () => {
    await using history = await databases.open();
    for (const id of ["counted", "not-yet"]) {
      await history.put(aLife(id, { claimedAt: clock(1), terminatedAt: clock(2) }));
      if (id === "counted") await history.usage.count(100);
    }
    for (const id of ["counted", "not-yet"]) await history.put(aLife(id, { claimedAt: clock(5), terminatedAt: clock(6) }));
    await history.usage.count(100);
    expect((await report(history, { by: "team" })).map((row) => (row as unknown[]).filter((_, index) => index !== 1))).toEqual([
      [1, 2, 7200, 0, 0],
      [5, 2, 7200, 0, 0],
    ]);
  });

  test("U2: the hours of a pruned record stay, counted before or not", async () => {
    await using history = await databases.open();
    await history.put(aLife("a", { claimedAt: clock(1), terminatedAt: clock(2) }));
    await history.usage.count(100);
    await history.put(aLife("b", { claimedAt: clock(1), terminatedAt: clock(2) }));
    await history.put(aLiveRecord("without-an-end", { claimedAt: clock(1) }));
    expect(await history.prune({ olderThan: clock(48), limit: 100 })).toBe(3);
    await history.usage.count(100);
    expect((await report(history, { step: "all", by: "team" })).map((row) => (row as unknown[])[2])).toEqual([2]);
    await history.usage.prune(day + 24 * hourMs);
    expect(await report(history, { step: "all", by: "team" })).toEqual([]);
  });

  test("a record whose sizes make no sense, or that lived for years, is counted too", async () => {
    await using history = await databases.open();
    await history.put(aLife("a", { claimedAt: clock(1), terminatedAt: clock(2), cpu: "lots", memory: "-5" }));
    await history.put(aLife("b", { claimedAt: "2020-01-01T00:00:00.000Z", terminatedAt: clock(2) }));
    expect(await history.usage.count(100)).toBe(2);
    expect((await report(history, { step: "all", by: "team" })).map((row) => (row as unknown[]).slice(2))).toEqual([
      [1, 3600 + 7200, 0, 0],
    ]);
  });
});
