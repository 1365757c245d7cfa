import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { systemClock } from "#lib/clock.ts";
import { sandboxStopReasons } from "#model/keys.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import type { HistoryFilter, HistoryStore } from "#store/history-store.ts";
import { matchesFilter } from "#store/matches-filter.ts";
import { compareKeys, type RecordKey } from "#store/record-key.ts";
import { openSqliteHistory } from "#store/sqlite/store.ts";
import { describeDatabases } from "./databases.ts";
import { aLiveRecord, aRecord, at } from "./records.ts";

const admin = { kind: "admin" } as const;
const red = { kind: "tenant", team: "red" } as const;

async function idsOf(history: HistoryStore, filter: HistoryFilter): Promise<string[]> {
  return (await everyPage(history, filter, 7)).map((record) => record.sandboxId);
}

/** Follows the cursors to the end, from the beginning or another place. */
async function everyPage(history: HistoryStore, filter: HistoryFilter, limit: number, from?: RecordKey): Promise<SandboxRecord[]> {
  const all: SandboxRecord[] = [];
  let after = from;
  do {
    const page = await history.search({ ...filter, limit, ...(after === undefined ? {} : { after }) });
    expect(page.records.length).toBeLessThanOrEqual(limit);
    all.push(...page.records);
    after = page.next;
  } while (after !== undefined);
  return all;
}

async function putAll(history: HistoryStore, records: readonly SandboxRecord[]): Promise<void> {
  for (const record of records) await history.put(record);
}

async function replaceAll(history: HistoryStore, records: readonly SandboxRecord[]): Promise<void> {
  await history.prune({ olderThan: "2100-01-01", limit: 1000 });
  await putAll(history, records);
}

// Few different values, so that filters meet records, and records each other.
const words = fc.constantFrom("a", "b", "c");
const moments = fc.integer({ min: 0, max: 5 }).map((second) => at(second));
const pairs = fc.dictionary(fc.constantFrom("k", "l", "m'; --", 'q"'), words, { maxKeys: 3 });
const ids = fc.constantFrom("a1", "a2", "ab", "b1", "b2", "c", "0190-a", "0190-b", "~", "A1");

const anyRecord: fc.Arbitrary<SandboxRecord> = fc
  .record({
    sandboxId: ids,
    owner: fc.constantFrom(["red", "rosa"], ["red", "rolf"], ["blue", "rosa"], ["", ""]),
    poolName: words,
    env: fc.option(words, { nil: undefined }),
    template: fc.option(words, { nil: undefined }),
    status: fc.constantFrom(...sandboxStopReasons, "Running" as const),
    claimedAt: moments,
    terminatedAt: moments,
    metadata: pairs,
  })
  .map(({ owner: [team = "", user = ""], env, template, status, terminatedAt, ...rest }) => ({
    ...aLiveRecord(rest.sandboxId),
    ...rest,
    team,
    user,
    status,
    ...(env === undefined ? {} : { envName: env }),
    ...(template === undefined ? {} : { templateName: template }),
    ...(status === "Running" ? {} : { terminatedAt }),
  }));

const given = {
  pool: words,
  env: words,
  template: words,
  status: fc.subarray([...sandboxStopReasons, "Running" as const]),
  claimedAfter: moments,
  claimedBefore: moments,
  endedAfter: moments,
  endedBefore: moments,
  metadata: pairs,
  idPrefix: fc.constantFrom("", "a", "a1", "0190-", "x", "%", "_", "A"),
};
type Given = keyof typeof given;
const scopes = [
  { kind: "admin" },
  { kind: "tenant", team: "red" },
  { kind: "tenant", team: "red", user: "rosa" },
  { kind: "tenant", team: "none" },
] as const;

// Up to three conditions: with more, next to nothing would match.
const anyFilter: fc.Arbitrary<HistoryFilter> = fc
  .record({ scope: fc.constantFrom(...scopes), all: fc.record(given), used: fc.subarray(Object.keys(given) as Given[], { maxLength: 3 }) })
  .map(({ scope, all, used }) => ({ scope, ...Object.fromEntries(used.map((name) => [name, all[name]])) }));

const anyPlace = fc.option(fc.record({ claimedAt: moments, sandboxId: ids }), { nil: undefined });

const anyHistory = fc.uniqueArray(anyRecord, { selector: (record) => record.sandboxId, maxLength: 10 });

describeDatabases("searching", (databases) => {
  test("every filter finds exactly the records that it describes, newest first, from any place, on pages of any size", async () => {
    await using history = await databases.open();
    await fc.assert(
      fc.asyncProperty(
        anyHistory,
        fc.array(fc.tuple(anyFilter, anyPlace), { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 1, max: 5 }),
        async (records, queries, limit) => {
          await replaceAll(history, records);
          for (const [filter, from] of queries) {
            const behind = records.filter((record) => from === undefined || compareKeys(from, record) < 0);
            const expected = behind.filter((record) => matchesFilter(record, filter)).sort(compareKeys);
            expect(await everyPage(history, filter, limit, from)).toEqual(expected);
          }
        },
      ),
      { numRuns: databases.name === "sqlite" ? 300 : 80 },
    );
  }, 120_000);

  test("statistics count exactly the records that the filter describes", async () => {
    await using history = await databases.open();
    await fc.assert(
      fc.asyncProperty(anyHistory, fc.array(anyFilter, { minLength: 1, maxLength: 20 }), async (records, filters) => {
        await replaceAll(history, records);
        for (const filter of filters) {
          const query = { ...filter, claimedAfter: filter.claimedAfter ?? at(0) };
          const expected = records.filter((record) => matchesFilter(record, query));
          expect(await history.statistics(query)).toEqual({
            total: expected.length,
            byStatus: counted(expected, (record) => record.status),
            byPool: counted(expected, (record) => record.poolName),
            byDay: counted(expected, (record) => record.claimedAt.slice(0, 10)),
          });
        }
      }),
      { numRuns: databases.name === "sqlite" ? 100 : 40 },
    );
  }, 120_000);

  test("days of the statistics are days in UTC", async () => {
    await using history = await databases.open();
    await putAll(history, [
      aRecord("a", { claimedAt: "2026-01-09T23:59:59.999Z" }),
      aRecord("b", { claimedAt: "2026-01-10T00:00:00.000Z" }),
    ]);
    const { byDay } = await history.statistics({ scope: admin, claimedAfter: "2026-01-01" });
    expect(byDay).toEqual([
      { key: "2026-01-09", count: 1 },
      { key: "2026-01-10", count: 1 },
    ]);
  });

  test("records of one millisecond are ordered by id, and pages cut between them lose none", async () => {
    await using history = await databases.open();
    const same = Array.from({ length: 20 }, (_, index) => aRecord(`s${String(index).padStart(2, "0")}`));
    await putAll(history, same);
    expect(await idsOf(history, { scope: red })).toEqual(same.map((record) => record.sandboxId).reverse());
  });

  test("the last page has no cursor, even when it is full", async () => {
    await using history = await databases.open();
    await putAll(history, [aRecord("a"), aRecord("b")]);
    expect((await history.search({ scope: red, limit: 2 })).next).toBeUndefined();
    expect((await history.search({ scope: red, limit: 1 })).next).toEqual({ claimedAt: aRecord("b").claimedAt, sandboxId: "b" });
  });

  test("records that come or go between two pages neither repeat nor hide others", async () => {
    await using history = await databases.open();
    await putAll(
      history,
      [1, 2, 3, 4, 5].map((second) => aRecord(`s${second}`, { claimedAt: at(second), terminatedAt: at(second) })),
    );
    const first = await history.search({ scope: red, limit: 2 });
    await history.put(aRecord("s9", { claimedAt: at(9) }));
    await history.prune({ olderThan: at(2), limit: 10 });
    const rest = await history.search({ scope: red, limit: 9, ...(first.next === undefined ? {} : { after: first.next }) });
    expect([...first.records, ...rest.records].map((record) => record.sandboxId)).toEqual(["s5", "s4", "s3", "s2"]);
  });

  test("a cursor whose record is gone still marks its place", async () => {
    await using history = await databases.open();
    await putAll(history, [aRecord("a", { claimedAt: at(1) }), aRecord("c", { claimedAt: at(3) })]);
    const page = await history.search({ scope: red, limit: 9, after: { claimedAt: at(2), sandboxId: "gone" } });
    expect(page.records.map((record) => record.sandboxId)).toEqual(["a"]);
  });

  describe("another tenant's records are as if they did not exist (I8)", () => {
    const blue = { kind: "tenant", team: "blue" } as const;

    test("in get, search and statistics", async () => {
      await using history = await databases.open();
      await putAll(history, [
        aRecord("mine"),
        aRecord("theirs", { team: "blue", user: "bert" }),
        aRecord("nobodys", { team: "", user: "" }),
      ]);
      expect(await history.get("theirs", red)).toBeUndefined();
      expect(await history.get("nobodys", red)).toBeUndefined();
      expect(await history.get("never-was", red)).toBeUndefined();
      expect(await history.get("theirs", blue)).toBeDefined();
      expect(await idsOf(history, { scope: red })).toEqual(["mine"]);
      expect(await idsOf(history, { scope: red, idPrefix: "theirs" })).toEqual([]);
      expect(await idsOf(history, { scope: admin })).toEqual(["theirs", "nobodys", "mine"]);
      expect((await history.statistics({ scope: red, claimedAfter: at(0) })).total).toBe(1);
    });

    test("of one team, another user's too, when the scope names a user", async () => {
      await using history = await databases.open();
      await putAll(history, [aRecord("mine"), aRecord("colleagues", { user: "rolf" })]);
      const rosa = { ...red, user: "rosa" };
      expect(await idsOf(history, { scope: rosa })).toEqual(["mine"]);
      expect(await history.get("colleagues", rosa)).toBeUndefined();
      expect(await history.get("colleagues", red)).toBeDefined();
    });

    test("and a tenant without a team is refused instead of seeing what has no owner", async () => {
      await using history = await databases.open();
      const nobody = { kind: "tenant", team: "" } as const;
      await expect(history.get("a", nobody)).rejects.toMatchObject({ code: "invalid" });
      await expect(history.search({ scope: nobody, limit: 1 })).rejects.toMatchObject({ code: "invalid" });
      await expect(history.statistics({ scope: nobody, claimedAfter: at(0) })).rejects.toMatchObject({ code: "invalid" });
    });
  });

  describe("a query that cannot be meant is refused", () => {
    test.each([
      ["limit", { limit: 0 }],
      ["limit", { limit: 1001 }],
      ["limit", { limit: 1.5 }],
      ["claimedAfter", { claimedAfter: "soon" }],
      ["endedBefore", { endedBefore: "" }],
      ["after", { after: { claimedAt: "x", sandboxId: "a" } }],
      ["after", { after: { claimedAt: at(0), sandboxId: "\0" } }],
      ["metadata", { metadata: Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`k${index}`, "v"])) }],
    ])("%s", async (field, different) => {
      await using history = await databases.open();
      await expect(history.search({ scope: admin, limit: 1, ...different })).rejects.toMatchObject({
        code: "invalid",
        message: expect.stringContaining(field) as string,
      });
    });
  });

  test("texts that no record can hold match nothing, and are no error", async () => {
    await using history = await databases.open();
    await history.put(aRecord("a"));
    expect(await idsOf(history, { scope: admin, pool: "\0", idPrefix: "\ud800" })).toEqual([]);
    expect(await history.get("\0", admin)).toBeUndefined();
    expect(await idsOf(history, { scope: { kind: "tenant", team: "\0" } })).toEqual([]);
  });
});

function openInSmallWindows(): Promise<HistoryStore> {
  const limits = { windowRows: 2, maxWindows: 2 };
  return openSqliteHistory({ file: ":memory:", clock: systemClock, durability: "process-crash", limits });
}

describe("searching in small windows on sqlite", () => {
  test("a search looks at no more rows than it may, and says where it stopped", async () => {
    const history = await openInSmallWindows();
    await putAll(
      history,
      [1, 2, 3, 4, 5, 6].map((second) => aRecord(`s${second}`, { claimedAt: at(second) })),
    );
    const page = await history.search({ scope: red, limit: 5, status: ["Failed", "Canceled"] });
    expect(page).toEqual({ records: [], next: { claimedAt: at(3), sandboxId: "s3" } });
    await history.close();
  });

  test("a search that finds little stops early, and going on finds the rest", async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, anyFilter, fc.integer({ min: 1, max: 3 }), async (records, filter, limit) => {
        const history = await openInSmallWindows();
        await putAll(history, records);
        const expected = records.filter((record) => matchesFilter(record, filter)).sort(compareKeys);
        expect(await everyPage(history, filter, limit)).toEqual(expected);
        await history.close();
      }),
      { numRuns: 200 },
    );
  });
});

function counted(records: readonly SandboxRecord[], keyOf: (record: SandboxRecord) => string): { key: string; count: number }[] {
  const keys = [...new Set(records.map(keyOf))].sort();
  return keys.map((key) => ({ key, count: records.filter((record) => keyOf(record) === key).length }));
}
