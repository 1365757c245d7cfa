import { expect, test } from "vitest";
import { SteppedClock } from "../../test/world/stepped-clock.ts";
import { kubernetesMicroTime, kubernetesTime, sleep, spacedReading, systemClock } from "./clock.ts";

test("a sleeper wakes when its time has come and not before", async () => {
  const clock = new SteppedClock();
  let awake = false;
  void sleep(clock, 100).then(() => (awake = true));
  await clock.step(99);
  expect(awake).toBe(false);
  await clock.step(1);
  expect(awake).toBe(true);
});

test("an aborted sleep ends at once with the signal's reason and leaves no timer", async () => {
  const clock = new SteppedClock();
  const abort = new AbortController();
  const sleeping = sleep(clock, 100, abort.signal);
  abort.abort(new Error("enough"));
  await expect(sleeping).rejects.toThrow("enough");
  await expect(sleep(clock, 100, abort.signal)).rejects.toThrow("enough");
  expect(clock.pending).toBe(0);
});

test("timers of a stepped clock fire in the order of their time", async () => {
  const clock = new SteppedClock();
  const fired: string[] = [];
  clock.after(20, () => fired.push("late"));
  clock.after(10, () => {
    fired.push("early");
    clock.after(5, () => fired.push("set by early"));
  });
  await clock.step(30);
  expect(fired).toEqual(["early", "set by early", "late"]);
});

test("kubernetes times have whole seconds", () => {
  expect(kubernetesTime(Date.UTC(2026, 0, 2, 3, 4, 5, 678))).toBe("2026-01-02T03:04:05Z");
});

test("the finer kubernetes times have six digits after the second", () => {
  expect(kubernetesMicroTime(Date.UTC(2026, 0, 2, 3, 4, 5, 67))).toBe("2026-01-02T03:04:05.067000Z");
});

test("the machine's monotonic clock moves with time", async () => {
  const start = systemClock.monotonic();
  await sleep(systemClock, 40);
  const passed = systemClock.monotonic() - start;
  expect(passed).toBeGreaterThanOrEqual(20);
  expect(passed).toBeLessThan(5000);
});

test("the time since boot is read once for all who ask within a few milliseconds, and tells of a sleep after them", () => {
  let [boot, awake, reads] = [1_000, 0, 0];
  const monotonic = spacedReading(
    () => ((reads += 1), boot),
    () => awake,
  );
  expect([monotonic(), monotonic(), reads]).toEqual([1_000, 1_000, 1]);
  // The machine sleeps for an hour.
  boot += 3_600_000;
  awake += 4;
  expect(monotonic()).toBe(1_000);
  awake += 1;
  expect([monotonic(), reads]).toEqual([3_601_000, 2]);
});
