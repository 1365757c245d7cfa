import fc from "fast-check";
import { expect, test } from "vitest";
import { allotWaiters, type GrowingPool } from "./allot-waiters.ts";

const aPool = (key: string, more: Partial<GrowingPool> = {}): GrowingPool => ({
  key,
  group: "g",
  scaleUpPriority: 0,
  coming: 0,
  room: Infinity,
  isSaturated: false,
  ...more,
});

test("waiters get their pods from the preferred pool as far as it may grow, and then from the next", () => {
  const pools = [aPool("ns/b", { scaleUpPriority: 1 }), aPool("ns/a", { room: 3 })];
  expect([...allotWaiters([{ pools: ["ns/a", "ns/b"], count: 10 }], pools, new Map())]).toEqual([
    ["ns/b", 7],
    ["ns/a", 3],
  ]);
});

test("a pool that counts as full is used only when the others have no room", () => {
  const pools = [aPool("ns/a", { isSaturated: true }), aPool("ns/b", { scaleUpPriority: 9, room: 2 })];
  expect(Object.fromEntries(allotWaiters([{ pools: ["ns/a", "ns/b"], count: 3 }], pools, new Map()))).toEqual({ "ns/a": 1, "ns/b": 2 });
});

test("requests that one pool alone can serve have it first", () => {
  const pools = [aPool("ns/a", { room: 2 }), aPool("ns/b", { scaleUpPriority: 1, room: 2 })];
  const sets = [
    { pools: ["ns/a", "ns/b"], count: 2 },
    { pools: ["ns/a"], count: 2 },
  ];
  expect(Object.fromEntries(allotWaiters(sets, pools, new Map()))).toEqual({ "ns/a": 2, "ns/b": 2 });
});

const names = ["ns/a", "ns/b", "ns/c"];
const arbitraryPools = fc.tuple(
  ...names.map((key) =>
    fc
      .record({
        scaleUpPriority: fc.nat(2),
        coming: fc.nat(5),
        room: fc.nat(10),
        isSaturated: fc.boolean(),
        group: fc.constantFrom("g", "h"),
      })
      .map((pool) => aPool(key, pool)),
  ),
);
const arbitrarySets = fc.uniqueArray(fc.record({ pools: fc.subarray(names, { minLength: 1 }), count: fc.integer({ min: 1, max: 15 }) }), {
  selector: ({ pools }) => pools.join(),
});
const arbitraryRooms = fc.record({ g: fc.nat(12), h: fc.nat(12) }).map((rooms) => new Map(Object.entries(rooms)));

test("no waiter has two pods, and no pool and no group has more than it may", () => {
  fc.assert(
    fc.property(arbitrarySets, arbitraryPools, arbitraryRooms, (sets, pools, rooms) => {
      const allotted = allotWaiters(sets, pools, rooms);
      const sum = [...allotted.values()].reduce((all, count) => all + count, 0);
      expect(sum).toBeLessThanOrEqual(sets.reduce((all, { count }) => all + count, 0));
      for (const { key, coming, room } of pools) expect(allotted.get(key)).toBeLessThanOrEqual(coming + room);
      for (const [group, room] of rooms) {
        const fresh = pools.filter((pool) => pool.group === group).map(({ key, coming }) => Math.max(0, (allotted.get(key) ?? 0) - coming));
        expect(fresh.reduce((all, count) => all + count, 0)).toBeLessThanOrEqual(room);
      }
    }),
  );
});

test("a waiter is left without a pod only when no pool that could serve it has room", () => {
  fc.assert(
    fc.property(
      arbitrarySets.filter((sets) => sets.length === 1),
      arbitraryPools,
      (sets, pools) => {
        const [set] = sets;
        const allotted = allotWaiters(sets, pools, new Map());
        const sum = [...allotted.values()].reduce((all, count) => all + count, 0);
        const could = pools.filter(({ key }) => set?.pools.includes(key)).reduce((all, { coming, room }) => all + coming + room, 0);
        expect(sum).toBe(Math.min(set?.count ?? 0, could));
      },
    ),
  );
});

test("every pool comes to the same answer, in whatever order it lists pools and sets", () => {
  fc.assert(
    fc.property(arbitrarySets, arbitraryPools, arbitraryRooms, (sets, pools, rooms) => {
      const turned = allotWaiters(sets.toReversed(), pools.toReversed(), rooms);
      expect(Object.fromEntries(turned)).toEqual(Object.fromEntries(allotWaiters(sets, pools, rooms)));
    }),
  );
});
