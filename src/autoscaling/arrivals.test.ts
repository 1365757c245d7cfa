import { describe, expect, test } from "vitest";
import { ArrivalForecaster, type ForecastWish } from "./arrivals.ts";
import { countQuantile, poissonQuantile } from "./coverage.ts";
import { DailyPattern } from "./daily-pattern.ts";
import { RefillTime } from "./refill-time.ts";
import { WantedWindow } from "./wanted-window.ts";

const start = Date.parse("2026-01-01T00:00:00Z");
const hour = 3_600_000;
const wish = (nowMs: number, more: Partial<ForecastWish> = {}): ForecastWish => ({
  nowMs,
  refillMs: 1_000,
  coveragePercent: 99,
  emptyAfterMs: 600_000,
  ...more,
});

function seeded(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

function poissonTimes(perSecond: number, seconds: number, random: () => number): number[] {
  const times: number[] = [];
  for (let at = start; ;) {
    at += (-Math.log(1 - random()) / perSecond) * 1000;
    if (at >= start + seconds * 1000) return times;
    times.push(at);
  }
}

/** Share of arrivals, of the later half, that find no spare pod when as many as forecast are kept and each comes a second after its order. */
function missed(times: readonly number[], coveragePercent: number): { readonly misses: number; readonly meanSpare: number } {
  const forecaster = new ArrivalForecaster(start);
  const ordered: number[] = [];
  const steps = times.flatMap((at, index) => [
    { at: at - 1_000, run: () => (ordered[index] = forecaster.forecast(wish(at - 1_000, { coveragePercent })).spare) },
    { at, run: () => forecaster.arrived(at) },
  ]);
  for (const { run } of steps.sort((one, other) => one.at - other.at)) run();
  const late = times.map((at, index) => ({ at, index })).slice(times.length / 2);
  const need = ({ at, index }: { at: number; index: number }): number =>
    times.slice(Math.max(0, index - 500), index).filter((other) => other > at - 1_000).length + 1;
  const misses = late.filter((one) => need(one) > (ordered[one.index] ?? 0)).length;
  return { misses: misses / late.length, meanSpare: late.reduce((sum, { index }) => sum + (ordered[index] ?? 0), 0) / late.length };
}

describe("spare pods of mode Demand", () => {
  test("steady arrivals are covered as often as asked, with about as many pods as their distribution needs", () => {
    const times = poissonTimes(5, 2_000, seeded(7));
    const { misses, meanSpare } = missed(times, 99);
    expect(misses).toBeLessThan(0.02);
    expect(meanSpare).toBeLessThan(poissonQuantile(5, 0.99) + 3);
    expect(missed(times, 80).misses).toBeLessThan(0.27);
  });

  test("bursts out of silence are covered once they are known, though most seconds are empty", () => {
    const random = seeded(11);
    const times = Array.from({ length: 60 }, (_, burst) =>
      Array.from({ length: 40 }, () => start + burst * 60_000 + random() * 1_500),
    ).flat();
    times.sort((one, other) => one - other);
    expect(missed(times, 99).misses).toBeLessThan(0.05);
  });

  test("after silence nothing is kept, and without such a limit something is", () => {
    const forecaster = new ArrivalForecaster(start);
    for (const at of poissonTimes(2, 300, seeded(3))) forecaster.arrived(at);
    expect(forecaster.forecast(wish(start + 310_000)).spare).toBeGreaterThan(0);
    expect(forecaster.forecast(wish(start + 300_000 + 601_000)).spare).toBe(0);
  });

  test("thirty requests at once, the first ever, are taken for a burst and not for a rate that goes on: no more pods are spare than such a burst needs", () => {
    const forecaster = new ArrivalForecaster(start);
    const burstAt = start + 60_000;
    const spares = Array.from({ length: 30 }, (_, index) => {
      // One after another, as a machine makes a pod for each.
      forecaster.arrived(burstAt + index * 50);
      return forecaster.forecast(wish(burstAt + index * 50, { refillMs: 2_000 })).spare;
    });
    expect(Math.max(...spares)).toBeLessThanOrEqual(30);
  });

  test("a request whose pod came back before the next ones came is not counted beside them", () => {
    const largest = (comesBack: boolean): number => {
      const forecaster = new ArrivalForecaster(start);
      const slow = (nowMs: number) => forecaster.forecast(wish(nowMs, { refillMs: 20_000 })).spare;
      slow(start);
      const rounds = [60_000, 66_000, 72_000, 78_000].map((at) => {
        const booked = Array.from({ length: 30 }, () => forecaster.arrived(start + at));
        if (comesBack) for (const time of booked) forecaster.returned(time);
        return slow(start + at + 3_000);
      });
      return Math.max(...rounds);
    };
    expect(largest(false)).toBeGreaterThan(80);
    expect(largest(true)).toBeLessThanOrEqual(40);
  });

  test("before anything is known one pod is kept", () => {
    expect(new ArrivalForecaster(start).forecast(wish(start + 1_000)).spare).toBe(1);
  });

  test("what comes at the same time every day has its pods before it comes", () => {
    const forecaster = new ArrivalForecaster(start);
    const random = seeded(5);
    for (let day = 0; day < 4; day++) {
      const eight = start + day * 24 * hour + 8 * hour;
      for (let index = 0; index < 200; index++) forecaster.arrived(eight + index * 4_000 + random());
    }
    expect(forecaster.forecast(wish(start + 4 * 24 * hour + 8 * hour - 30_000)).spare).toBeGreaterThan(0);
    expect(forecaster.forecast(wish(start + 4 * 24 * hour + 12 * hour)).spare).toBe(0);
  });

  test("a day of a thousand arrivals a second costs bounded memory and little time", () => {
    const forecaster = new ArrivalForecaster(start);
    for (let index = 0; index < 200_000; index++) forecaster.arrived(start + index);
    expect(forecaster.forecast(wish(start + 200_000)).spare).toBeGreaterThan(900);
  });
});

test("quantiles of counts are those of their distributions", () => {
  expect([poissonQuantile(0, 0.99), poissonQuantile(1, 0.99), poissonQuantile(5, 0.99), poissonQuantile(100, 0.99)]).toEqual([
    0, 4, 11, 124,
  ]);
  expect(countQuantile(5, 25, 0.99)).toBe(22);
  expect(Math.abs(poissonQuantile(400, 0.99) - 447)).toBeLessThanOrEqual(1);
});

test("the refill time is that of the slower of the latest pods", () => {
  const refill = new RefillTime(2_000);
  expect(refill.ms).toBe(2_000);
  for (let ms = 100; ms <= 1_000; ms += 100) refill.took(ms, ms * 1_000);
  expect(refill.ms).toBe(900);
});

test("of pods that are made together only the quickest tells the refill time: the others waited for each other", () => {
  const refill = new RefillTime(2_000);
  for (let pod = 0; pod < 30; pod++) refill.took(1_300 + pod * 300, start + pod);
  expect(refill.ms).toBe(1_300);
});

test("a pod that is slow alone is not forgotten because of quicker ones that were made together", () => {
  const refill = new RefillTime(2_000);
  refill.took(9_000, start);
  for (let pod = 0; pod < 30; pod++) refill.took(1_000, start + 60_000 + pod);
  expect(refill.ms).toBe(9_000);
});

test("the largest number of a window is forgotten when the window has passed", () => {
  const window = new WantedWindow();
  window.note(9, 0);
  window.note(4, 10);
  expect([window.largest(100, 50), window.largest(100, 105), window.largest(100, 500)]).toEqual([9, 4, 0]);
});

test("a usual rate is known after the days that it was seen on", () => {
  const pattern = new DailyPattern(start);
  for (let day = 0; day < 3; day++) {
    for (let index = 0; index < 90; index++) pattern.arrived(start + day * 24 * hour + hour + index * 1_000);
  }
  pattern.advance(start + 3 * 24 * hour);
  expect(pattern.usual(start + hour, start + hour)).toEqual({ perSecond: 0.1, days: 3, usual: 1 });
});
