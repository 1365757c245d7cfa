import { beforeEach, describe, expect, test } from "vitest";
import { SteppedClock } from "../../test/world/stepped-clock.ts";
import { carriedReading, endsWithin, kubernetesMicroTime, kubernetesTime, sleep, systemClock } from "./clock.ts";

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

test("what ends in time is told from what does not, and no timer is left", async () => {
  const clock = new SteppedClock();
  expect(await endsWithin(Promise.resolve(), clock, 10)).toBe(true);
  expect(await endsWithin(Promise.reject(new Error("badly")), clock, 10)).toBe(true);
  const late = endsWithin(new Promise(() => {}), clock, 10);
  await clock.step(10);
  expect(await late).toBe(false);
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

describe("the time since boot", () => {
  const machine = { boot: 1_000, awake: 0, reads: 0 };
  const pass = (ms: number): void => {
    machine.boot += ms;
    machine.awake += ms;
  };
  const clock = (): (() => number) =>
    carriedReading(
      () => ((machine.reads += 1), machine.boot),
      () => machine.awake,
    );
  beforeEach(() => void Object.assign(machine, { boot: 1_000, awake: 0, reads: 0 }));

  test("is read now and then, and goes on in between", () => {
    const monotonic = clock();
    const told = [0, 4, 45].map((ms) => {
      pass(ms);
      return monotonic();
    });
    expect([told, machine.reads]).toEqual([[1_000, 1_004, 1_049], 1]);
    pass(1);
    expect([monotonic(), machine.reads]).toEqual([1_050, 2]);
  });

  test("tells of a sleep within a moment of being awake", () => {
    const monotonic = clock();
    monotonic();
    machine.boot += 3_600_000;
    pass(49);
    expect(monotonic()).toBe(1_049);
    pass(1);
    expect(monotonic()).toBe(3_601_050);
  });

  test("never goes back, though what is read has steps", () => {
    const monotonic = clock();
    monotonic();
    machine.awake += 49;
    expect(monotonic()).toBe(1_049);
    machine.boot = 1_040;
    machine.awake += 1;
    expect(monotonic()).toBe(1_049);
  });
});
