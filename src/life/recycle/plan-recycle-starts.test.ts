import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { planRecycleStarts, type RecyclePace, type RecycleSituation, usualRecyclePace } from "./plan-recycle-starts.ts";

const pace: RecyclePace = { mostAtOnce: 8, atOnce: 3, besideClaimsMs: 1_000, claimedLatelyMs: 500 };

function plan(situation: Partial<RecycleSituation>): readonly [number, number | undefined] {
  const { start, againInMs } = planRecycleStarts(
    { resting: 10, wanted: 0, recycling: 0, isClaiming: false, sinceLastMs: Number.POSITIVE_INFINITY, ...situation },
    pace,
  );
  return [start, againInMs];
}

describe("a node recycles", () => {
  test.for([
    ["as many pods at a time as it does best, where nobody claims", {}, [3, undefined]],
    ["only as many as rest", { resting: 2 }, [2, undefined]],
    ["one more for each that is done", { recycling: 2 }, [1, undefined]],
    ["none where it has enough to do", { recycling: 5 }, [0, undefined]],
    ["one beside claims", { isClaiming: true }, [1, 500]],
    ["the next one beside claims after a pause", { isClaiming: true, sinceLastMs: 700 }, [0, 300]],
    ["none beside claims where it has enough to do", { isClaiming: true, recycling: 3 }, [0, 500]],
    ["those of a pool that is short of pods, beside claims too", { isClaiming: true, wanted: 4, sinceLastMs: 0 }, [4, undefined]],
    ["no more than a node can do at all, however short its pools are", { wanted: 10, recycling: 6 }, [2, undefined]],
  ] as const)("%s", ([, situation, expected]) => {
    expect(plan(situation)).toEqual(expected);
  });
});

test("whatever happens, a node never has more to do than it can, and whoever rests is looked at again or told of", () => {
  const situations = fc.record({
    resting: fc.nat(300),
    wanted: fc.nat(300),
    recycling: fc.nat(30),
    isClaiming: fc.boolean(),
    sinceLastMs: fc.nat(5_000),
  });
  fc.assert(
    fc.property(situations, (drawn) => {
      const situation = { ...drawn, wanted: Math.min(drawn.wanted, drawn.resting) };
      const { start, againInMs } = planRecycleStarts(situation, usualRecyclePace);
      expect(start).toBeGreaterThanOrEqual(0);
      expect(start).toBeLessThanOrEqual(situation.resting);
      expect(start === 0 || situation.recycling + start <= usualRecyclePace.mostAtOnce).toBe(true);
      // No pod rests for ever: something begins, a recycling under way reports its end, or a time is named.
      expect(situation.resting === 0 || start > 0 || situation.recycling > 0 || againInMs !== undefined).toBe(true);
    }),
  );
});
