import { describe, expect, test } from "vitest";
import { SimulatedProcess } from "../../../test/world/simulated-process.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { LeadershipLostError, momentOf, Tenure } from "./tenure.ts";
import { checkTiming, defaultTiming } from "./timing.ts";

function begin(): { world: SteppedClock; process: SimulatedProcess; tenure: Tenure; told: () => number } {
  const world = new SteppedClock();
  const process = new SimulatedProcess(world, 0);
  const tenure = new Tenure(process, 10_000, momentOf(process));
  let told = 0;
  tenure.signal.addEventListener("abort", () => told++);
  return { world, process, tenure, told: () => told };
}

describe("tenure", () => {
  test("ends by itself when its deadline comes, and its listeners are told once", async () => {
    const { world, tenure, told } = begin();
    await world.step(9_999);
    expect([tenure.lost, told()]).toEqual([false, 0]);
    await world.step(1);
    expect(told()).toBe(1);
    expect([tenure.lost, tenure.signal.aborted]).toEqual([true, true]);
    expect(tenure.signal.reason).toEqual(new LeadershipLostError("leadership lost: no renewal for 10000 ms"));
    expect(world.pending).toBe(0);
  });

  test("a renewal counts from the moment at which it was begun", async () => {
    const { world, process, tenure } = begin();
    await world.step(5_000);
    const started = momentOf(process);
    await world.step(4_000);
    tenure.renew(started);
    await world.step(5_999);
    expect(tenure.lost).toBe(false);
    await world.step(1);
    expect(tenure.lost).toBe(true);
  });

  test("what is lost stays lost, whatever answer comes afterwards", async () => {
    const { world, process, tenure } = begin();
    await world.step(10_000);
    tenure.renew(momentOf(process));
    expect(tenure.lost).toBe(true);
    expect(world.pending).toBe(0);
  });

  test("the time of day may be set back without making it longer, and set forward only makes it shorter", async () => {
    const back = begin();
    back.process.setTimeOfDay(-60_000);
    await back.world.step(10_000);
    expect(back.tenure.lost).toBe(true);

    const forward = begin();
    forward.process.setTimeOfDay(60_000);
    expect(forward.tenure.signal.aborted).toBe(true);
  });

  test("a timer that comes early because the clock was set does no harm", async () => {
    const { world, process, tenure } = begin();
    process.setTimeOfDay(9_000);
    tenure.renew({ monotonic: process.monotonic(), wall: process.now() - 9_000 });
    process.setTimeOfDay(-9_000);
    await world.step(1_000);
    expect(tenure.lost).toBe(false);
    await world.step(9_000);
    expect(tenure.lost).toBe(true);
  });

  test("who resigns still holds the lease until it is lost", async () => {
    const { world, tenure } = begin();
    tenure.resign(new Error("stopping"));
    expect([tenure.signal.aborted, tenure.lost]).toEqual([true, false]);
    await world.step(10_000);
    expect(tenure.lost).toBe(true);
    expect(tenure.signal.reason).toEqual(new Error("stopping"));
  });
});

describe("timing", () => {
  test("the usual numbers are fine", () => {
    expect(() => checkTiming(defaultTiming)).not.toThrow();
  });

  test.each([
    [{ retryPeriodMs: 0 }, "retryPeriodMs must be greater than 0"],
    [{ renewDeadlineMs: 3_000 }, "at least twice retryPeriodMs"],
    [{ renewDeadlineMs: 15_000 }, "two could lead at once"],
    [{ leaseDurationMs: Number.NaN }, "two could lead at once"],
  ])("%o is refused because %s", (timing, why) => {
    expect(() => checkTiming({ ...defaultTiming, ...timing })).toThrow(why);
  });
});
