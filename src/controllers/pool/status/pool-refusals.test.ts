import { expect, test } from "vitest";
import { SteppedClock } from "../../../../test/world/stepped-clock.ts";
import { PoolRefusals } from "./pool-refusals.ts";

const pool = { namespace: "ns", name: "py" };
const refusal = { admitted: 1, wanted: 3, refusal: { kind: "InsufficientResources", message: "no room", plugin: "quota" } } as const;

test("a refusal is remembered for a second, also when the time of day is set back meanwhile", async () => {
  const clock = new SteppedClock();
  const refusals = new PoolRefusals(clock);
  refusals.note(pool, refusal);
  clock.setBy(-600_000);
  expect(refusals.fresh(pool)).toMatchObject({ admitted: 1 });
  expect(refusals.leftMs(pool)).toBe(1000);
  await clock.step(1000);
  expect(refusals.fresh(pool)).toBeUndefined();
  expect(refusals.leftMs(pool)).toBeUndefined();
});
