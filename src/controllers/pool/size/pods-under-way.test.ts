import { expect, test } from "vitest";
import { PodsUnderWay } from "./pods-under-way.ts";

const pool = { namespace: "default", name: "py" };

test("pods count as under way until the turn that makes them is over", () => {
  const underWay = new PodsUnderWay();
  {
    using _ = underWay.take(pool, 3);
    expect(underWay.of(pool)).toBe(3);
    expect(underWay.of({ ...pool, name: "other" })).toBe(0);
  }
  expect(underWay.of(pool)).toBe(0);
});
