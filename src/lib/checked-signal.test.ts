import { expect, test } from "vitest";
import { checkedSignal } from "./checked-signal.ts";

test("reading the signal finds out that it is over before any event could tell", () => {
  for (const read of [
    (signal: AbortSignal): unknown => signal.aborted,
    (signal: AbortSignal): unknown => signal.reason !== undefined,
    (signal: AbortSignal): unknown => {
      try {
        signal.throwIfAborted();
        return false;
      } catch (error) {
        return error === signal.reason;
      }
    },
  ]) {
    let over = false;
    const controller = new AbortController();
    const signal = checkedSignal(controller, () => {
      if (over) controller.abort(new Error("over"));
    });
    expect(read(signal)).toBe(false);
    over = true;
    expect(read(signal)).toBe(true);
    expect(signal.reason).toEqual(new Error("over"));
  }
});

test("listeners and derived signals are told once, also when reading found out", () => {
  const controller = new AbortController();
  const signal = checkedSignal(controller, () => controller.abort(new Error("over")));
  let told = 0;
  const derived = AbortSignal.any([signal]);
  signal.addEventListener("abort", () => (told += signal.aborted ? 1 : 100));
  expect(signal.aborted).toBe(true);
  expect(told).toBe(1);
  expect(derived.aborted).toBe(true);
});

test("an abort from outside is seen as on any signal", () => {
  const controller = new AbortController();
  const signal = checkedSignal(controller, () => {});
  controller.abort("enough");
  expect([signal.aborted, signal.reason]).toEqual([true, "enough"]);
});
