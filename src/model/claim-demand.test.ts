import fc from "fast-check";
import { expect, test } from "vitest";
import { formatDemand, parseDemand, type WaitingSet } from "./claim-demand.ts";

const poolName = fc.stringMatching(/^[a-z]{1,8}\/[a-z]{1,8}$/);
const demand = fc.uniqueArray(
  fc.record({
    pools: fc.uniqueArray(poolName, { minLength: 1, maxLength: 4 }).map((pools) => pools.sort()),
    count: fc.nat(),
  }),
  { selector: ({ pools }) => pools.join(",") },
);

const byPools = (sets: readonly WaitingSet[]): readonly WaitingSet[] =>
  sets.toSorted((left, right) => (left.pools.join(",") < right.pools.join(",") ? -1 : 1));

test("a demand is read as it was written, and sets without waiting requests are left out", () => {
  fc.assert(
    fc.property(demand, (sets) => {
      const waiting = sets.filter(({ count }) => count > 0);
      expect(byPools(parseDemand(formatDemand(sets)))).toEqual(byPools(waiting));
      expect(formatDemand(waiting.toReversed())).toBe(formatDemand(sets));
    }),
  );
  expect(formatDemand([{ pools: ["ns/py"], count: 0 }])).toBeUndefined();
});

test("what cannot be read is no demand", () => {
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => parseDemand(text).every(({ count }) => count > 0)));
  for (const text of ["", "null", "[]", '{"ns/py":-1}', '{"ns/py":"3"}', '{"ns/py":1.5}']) expect(parseDemand(text)).toEqual([]);
});
