import { expect, test } from "vitest";
import { NeededSpare } from "./needed-spare.ts";

const all = { share: 0.99, worthPerSecond: 0, isOpen: () => true, nowMs: 0 };

/** Once in a hundred seconds ten requests at once, after situation 0. Situation 1 has been seen for ten seconds, without any. */
function rareBursts(): NeededSpare {
  const needed = new NeededSpare(0);
  for (let burst = 0; burst < 20; burst++) {
    needed.lasted(0, 100_000, 0);
    for (let need = 1; need <= 10; need++) needed.arrived(0, need, 0);
  }
  needed.lasted(1, 10_000, 0);
  return needed;
}

test("a situation that was hardly seen has the spare pods of its neighbour, not none", () => {
  expect(rareBursts().table(all).get(1)).toBe(10);
});

test("no spare pod is kept that saves fewer requests than it is worth", () => {
  const needed = rareBursts();
  expect(needed.table({ ...all, worthPerSecond: 1 / 200 }).get(0)).toBe(10);
  expect(needed.table({ ...all, worthPerSecond: 1 / 50 }).get(0)).toBeUndefined();
});

test("as many pods as cover the wanted share, and not one more", () => {
  expect(
    rareBursts()
      .table({ ...all, share: 0.5, isOpen: (situation) => situation === 0 })
      .get(0),
  ).toBe(5);
});
