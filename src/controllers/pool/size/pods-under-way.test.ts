import { expect, test } from "vitest";
import { PodsUnderWay } from "./pods-under-way.ts";

const pool = { namespace: "default", name: "py" };

test("pods count as under way until the turn that makes them is over", () => {
  const underWay = new PodsUnderWay();
  {
    using _ = underWay.take(pool, 2, 3);
    expect(underWay.upTo(pool)).toBe(5);
    expect([...underWay.pools()]).toEqual([["default/py", 5]]);
    expect(underWay.upTo({ ...pool, name: "other" })).toBe(0);
  }
  expect(underWay.upTo(pool)).toBe(0);
});

test("a pool that lacks nothing is not under way", () => {
  const underWay = new PodsUnderWay();
  using _ = underWay.take(pool, 2, 0);
  expect([...underWay.pools()]).toEqual([]);
});
