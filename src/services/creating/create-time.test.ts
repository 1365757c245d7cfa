import { expect, test } from "vitest";
import { SimulatedProcess } from "../../../test/world/simulated-process.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { CreateTime } from "./create-time.ts";

const never = new AbortController().signal;

test.each([-600_000, 600_000])("I9: a create is over when its time is, though the clock is set by %i ms meanwhile", async (byMs) => {
  const clock = new SteppedClock();
  const process = new SimulatedProcess(clock, 0);
  using time = new CreateTime({ clock: process, timeoutMs: 5_000, caller: never, stopped: never });
  await clock.step(1_000);
  process.setTimeOfDay(byMs);
  await clock.step(3_999);
  expect([time.late.aborted, time.over.aborted]).toEqual([false, false]);
  await clock.step(1);
  expect([time.left.aborted, time.late.aborted, time.over.reason]).toMatchObject([false, true, { code: "timeout" }]);
});

test("who has waited long enough for a pod is told so, and who has one goes on", async () => {
  const clock = new SteppedClock();
  using time = new CreateTime({ clock, timeoutMs: 5_000, waitMs: 2_000, caller: never, stopped: never });
  await clock.step(1_999);
  expect([time.waited.aborted, time.waitMs]).toEqual([false, 2_000]);
  await clock.step(1);
  expect([time.waited.aborted, time.over.aborted]).toEqual([true, false]);
});

test.each([undefined, 9_000])(
  "without a wait of its own, or with one that is longer (%s), a pod is waited for all of the time",
  async (waitMs) => {
    const clock = new SteppedClock();
    using time = new CreateTime({ clock, timeoutMs: 5_000, waitMs, caller: never, stopped: never });
    await clock.step(4_999);
    expect(time.waited.aborted).toBe(false);
    await clock.step(1);
    expect([time.waited.aborted, time.waitMs]).toEqual([true, 5_000]);
  },
);
