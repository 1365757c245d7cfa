import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aLiveRecord, aRecord, at } from "../../test/history/records.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import type { HistoryPage, HistoryQuery, HistoryStore } from "./history-store.ts";
import { type LiveSandboxes, listSandboxes } from "./join-live.ts";
import { matchesFilter } from "./matches-filter.ts";
import { compareKeys, keyOf, type RecordKey } from "./record-key.ts";

const admin = { kind: "admin" } as const;

function liveOf(records: readonly SandboxRecord[]): LiveSandboxes {
  return (after) => records.filter((record) => after === undefined || compareKeys(after, record) < 0).sort(compareKeys);
}

/** A history in memory. `examines`: how many records one search looks at before it gives what it has. */
function historyOf(records: readonly SandboxRecord[], examines = Infinity): Pick<HistoryStore, "search"> {
  return { search: (query) => Promise.resolve(searchIn(records, query, examines)) };
}

function searchIn(records: readonly SandboxRecord[], query: HistoryQuery, examines: number): HistoryPage {
  const { after, limit } = query;
  const rest = records.filter((record) => after === undefined || compareKeys(after, record) < 0).sort(compareKeys);
  const found: SandboxRecord[] = [];
  for (const [index, record] of rest.entries()) {
    const last = index === 0 ? undefined : rest[index - 1];
    if (last !== undefined && (found.length === limit || index >= examines)) return { records: found, next: keyOf(last) };
    if (matchesFilter(record, query)) found.push(record);
  }
  return { records: found };
}

const idsOf = (page: HistoryPage) => page.records.map((record) => record.sandboxId);

describe("live and ended sandboxes in one list", () => {
  const live = [aLiveRecord("l1", { claimedAt: at(1) }), aLiveRecord("l4", { claimedAt: at(4) })];
  const ended = [aRecord("e2", { claimedAt: at(2) }), aRecord("e3", { claimedAt: at(3) })];

  test("are in the order of their claims, and the last page has no cursor", async () => {
    const first = await listSandboxes(liveOf(live), historyOf(ended), { scope: admin, limit: 3 });
    expect(idsOf(first)).toEqual(["l4", "e3", "e2"]);
    expect(first.next).toEqual({ claimedAt: at(2), sandboxId: "e2" });
    const second = await listSandboxes(liveOf(live), historyOf(ended), {
      scope: admin,
      limit: 3,
      after: { claimedAt: at(2), sandboxId: "e2" },
    });
    expect(second).toEqual({ records: [live[0]] });
  });

  test("W31: a filter that fits few live ones looks at so many, and says where to go on", async () => {
    const many = Array.from({ length: 25_000 }, (_, index) => aLiveRecord(`l${index}`, { claimedAt: at(index) }));
    let read = 0;
    const counted: LiveSandboxes = function* (after) {
      for (const record of liveOf(many)(after)) {
        read += 1;
        yield record;
      }
    };
    const query = { scope: admin, limit: 10, metadata: { no: "body" } };
    let page = await listSandboxes(counted, historyOf([]), query);
    expect(page.records).toEqual([]);
    expect(read).toBeLessThanOrEqual(10_002);
    let pages = 1;
    for (; page.next !== undefined; pages += 1) page = await listSandboxes(counted, historyOf([]), { ...query, after: page.next });
    expect(pages).toBe(3);
  });

  test("W31: live ones that are too new, too old or cannot fit are not read", async () => {
    const many = Array.from({ length: 100 }, (_, index) => aLiveRecord(`l${index}`, { claimedAt: at(index) }));
    const reads = async (query: Partial<HistoryQuery>): Promise<readonly [number, number]> => {
      let read = 0;
      const counted: LiveSandboxes = function* (after) {
        for (const record of liveOf(many)(after)) {
          read += 1;
          yield record;
        }
      };
      const { records } = await listSandboxes(counted, historyOf([]), { scope: admin, limit: 1000, ...query });
      return [records.length, read];
    };
    expect(await reads({ claimedBefore: at(3) })).toEqual([3, 3]);
    expect(await reads({ claimedAfter: at(97) })).toEqual([3, 4]);
    expect(await reads({ status: ["Completed", "Failed"] })).toEqual([0, 0]);
    expect(await reads({ endedAfter: at(0) })).toEqual([0, 0]);
  });

  test("a sandbox that is in both is shown once, as ended", async () => {
    const both = aRecord("l4", { claimedAt: at(4) });
    const page = await listSandboxes(liveOf(live), historyOf([both]), { scope: admin, limit: 9 });
    expect(page.records).toEqual([both, live[0]]);
  });

  test("a sandbox that ends while its page is read is not missed", async () => {
    const world = new World([aLiveRecord("s")]);
    world.advance(0);
    world.cacheSees(1);
    const history = {
      search: (query: HistoryQuery) => {
        const page = searchIn(world.ended, query, Infinity);
        world.advance(0);
        world.advance(0);
        world.cacheSees(2);
        return Promise.resolve(page);
      },
    };
    expect(idsOf(await listSandboxes((after) => liveOf(world.live)(after), history, { scope: admin, limit: 9 }))).toEqual(["s"]);
    expect(world.live).toEqual([]);
  });

  test("a filter for live states does not ask the history at all", async () => {
    const asked: HistoryQuery[] = [];
    const history = { search: (query: HistoryQuery) => (asked.push(query), Promise.resolve({ records: [] })) };
    const page = await listSandboxes(liveOf(live), history, { scope: admin, limit: 9, status: ["Running", "Paused"] });
    expect(idsOf(page)).toEqual(["l4", "l1"]);
    expect(asked).toEqual([]);
  });

  test("a record without an end is left to its pod", async () => {
    const page = await listSandboxes(liveOf([]), historyOf([aLiveRecord("stale")]), { scope: admin, limit: 9 });
    expect(page.records).toEqual([]);
  });

  test("another tenant's live sandboxes are as if they did not exist (I8)", async () => {
    const theirs = aLiveRecord("theirs", { team: "blue", claimedAt: at(9) });
    const page = await listSandboxes(liveOf([...live, theirs]), historyOf([]), { scope: { kind: "tenant", team: "red" }, limit: 9 });
    expect(idsOf(page)).toEqual(["l4", "l1"]);
  });

  test("W31: live sandboxes are read only as far as the page goes", async () => {
    let read = 0;
    const endless: LiveSandboxes = function* (after) {
      for (let second = after === undefined ? 80_000 : 70_000; ; second--) {
        read++;
        yield aLiveRecord(`l${second}`, { claimedAt: at(second) });
      }
    };
    await listSandboxes(endless, historyOf([]), { scope: admin, limit: 5 });
    expect(read).toBe(6);
  });

  test("a source of live sandboxes that is out of order is a bug that shows", async () => {
    const wrong: LiveSandboxes = () => live;
    await expect(listSandboxes(wrong, historyOf([]), { scope: admin, limit: 9 })).rejects.toThrow(/out of order/);
  });

  test("a query that cannot be meant is refused before anything is read", async () => {
    const nothing = { search: () => Promise.reject(new Error("asked")) };
    await expect(listSandboxes(() => [], nothing, { scope: admin, limit: 0 })).rejects.toMatchObject({ code: "invalid" });
  });
});

/**
 * A world in which sandboxes are claimed, recorded and wiped while a caller lists them. The cache follows late: it sees the changes
 * in their order, but at any time. Records are in the history at once.
 */
class World {
  readonly #all: readonly SandboxRecord[];
  readonly #stage = new Map<string, number>();
  /** Which sandbox went a stage further, in order. */
  readonly #changes: string[] = [];
  readonly #seen = new Map<string, number>();
  #seenChanges = 0;

  constructor(all: readonly SandboxRecord[]) {
    this.#all = all;
  }

  /** 1: claimed, 2: recorded, 3: wiped. */
  advance(index: number): void {
    const sandbox = this.#all[index % this.#all.length];
    if (sandbox === undefined) return;
    const stage = this.#stage.get(sandbox.sandboxId) ?? 0;
    if (stage === 3) return;
    this.#stage.set(sandbox.sandboxId, stage + 1);
    this.#changes.push(sandbox.sandboxId);
  }

  cacheSees(count: number): void {
    for (const id of this.#changes.slice(this.#seenChanges, this.#seenChanges + count)) {
      this.#seen.set(id, (this.#seen.get(id) ?? 0) + 1);
      this.#seenChanges++;
    }
  }

  get live(): readonly SandboxRecord[] {
    return this.#all.filter(({ sandboxId }) => [1, 2].includes(this.#seen.get(sandboxId) ?? 0));
  }

  get ended(): readonly SandboxRecord[] {
    const recorded = this.#all.filter(({ sandboxId }) => (this.#stage.get(sandboxId) ?? 0) >= 2);
    return recorded.map((record) => ({ ...record, status: "Completed", terminatedAt: at(50_000) }));
  }
}

const anySandboxes = fc.uniqueArray(
  fc.record({
    id: fc.integer({ min: 0, max: 30 }),
    second: fc.integer({ min: 0, max: 12 }),
    team: fc.constantFrom("red", "red", "red", "blue"),
  }),
  { selector: ({ id }) => id, minLength: 1, maxLength: 16 },
);
const anyStep = fc.oneof(fc.record({ advance: fc.nat(40) }), fc.record({ sees: fc.integer({ min: 1, max: 6 }) }));

type Step = { readonly advance: number } | { readonly sees: number };

function take(world: World, step: Step): void {
  if ("advance" in step) world.advance(step.advance);
  else world.cacheSees(step.sees);
}

interface Listing {
  readonly world: World;
  /** What happens at each chance: between two pages, while the history is asked, and while its answer is on the way. */
  readonly happenings: readonly (readonly Step[])[];
  readonly limit: number;
  readonly examines: number;
}

async function listEverything({ world, happenings, limit, examines }: Listing): Promise<SandboxRecord[]> {
  const scope = { kind: "tenant", team: "red" } as const;
  const all: SandboxRecord[] = [];
  let chance = 0;
  const somethingHappens = () => happenings[chance++]?.forEach((step) => take(world, step));
  const history = {
    search: async (query: HistoryQuery) => {
      await Promise.resolve();
      somethingHappens();
      const page = searchIn(world.ended, query, examines);
      await Promise.resolve();
      somethingHappens();
      return page;
    },
  };
  let after: RecordKey | undefined;
  do {
    const page = await listSandboxes((from) => liveOf(world.live)(from), history, {
      scope,
      limit,
      ...(after === undefined ? {} : { after }),
    });
    expect(page.records.length).toBeLessThanOrEqual(limit);
    all.push(...page.records);
    expect(page.next === undefined || after === undefined || compareKeys(after, page.next) < 0).toBe(true);
    after = page.next;
    somethingHappens();
  } while (after !== undefined);
  return all;
}

test("W31: however sandboxes end while they are listed, none is missed and none is shown twice", async () => {
  await fc.assert(
    fc.asyncProperty(
      anySandboxes,
      fc.array(anyStep, { maxLength: 60 }),
      fc.array(fc.array(anyStep, { maxLength: 8 }), { maxLength: 40 }),
      fc.record({ limit: fc.integer({ min: 1, max: 6 }), examines: fc.integer({ min: 1, max: 8 }) }),
      async (sandboxes, before, happenings, { limit, examines }) => {
        const records = sandboxes.map(({ id, second, team }) => aLiveRecord(`s${id}`, { claimedAt: at(second), team }));
        const world = new World(records);
        before.forEach((step) => take(world, step));
        const known = new Set([...world.live, ...world.ended].filter(({ team }) => team === "red").map(({ sandboxId }) => sandboxId));

        const listed = await listEverything({ world, happenings, limit, examines });

        expect(listed).toEqual(listed.toSorted(compareKeys));
        const ids = new Set(listed.map(({ sandboxId }) => sandboxId));
        expect(ids.size).toBe(listed.length);
        expect([...known].filter((id) => !ids.has(id))).toEqual([]);
        expect(listed.every(({ team }) => team === "red")).toBe(true);
      },
    ),
    { numRuns: 3000 },
  );
}, 60_000);
