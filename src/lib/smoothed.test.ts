import { expect, test } from "vitest";
import { SteppedClock } from "../../test/world/stepped-clock.ts";
import { smoothed } from "./smoothed.ts";

test("a smoothed number begins where the other is, follows a step of it slowly, and gets there", async () => {
  const clock = new SteppedClock();
  let count = 1;
  const value = smoothed(() => count, clock, 5000);
  expect(value()).toBe(1);
  count = 3;
  expect(value()).toBe(1);
  const seen: number[] = [];
  for (let second = 0; second < 60; second++) {
    await clock.step(1000);
    seen.push(value());
  }
  expect(seen).toEqual([...seen].sort((left, right) => left - right));
  expect(seen[0]).toBeLessThan(1.5);
  expect(seen[4]).toBeGreaterThan(2.2);
  expect(seen.at(-1)).toBeCloseTo(3, 3);
});

test("how often it is asked for makes no difference", async () => {
  const clock = new SteppedClock();
  let count = 4;
  const [often, seldom] = [smoothed(() => count, clock, 5000), smoothed(() => count, clock, 5000)];
  count = 1;
  for (let second = 0; second < 7; second++) {
    await clock.step(1000);
    often();
  }
  expect(often()).toBeCloseTo(seldom(), 9);
});
