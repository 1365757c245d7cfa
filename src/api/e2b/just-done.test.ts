import { expect, test } from "vitest";
import { JustDone } from "./just-done.ts";

test("a change is of the requests that came before its end, for its sandbox alone, and is forgotten", () => {
  let now = 1000;
  const done = new JustDone(() => now);
  done.note("pause", "a");
  now += 5;
  expect(done.isSince("pause", "a", { elapsedTime: 6 })).toBe(true);
  expect(done.isSince("pause", "a", { elapsedTime: 4 })).toBe(false);
  expect(done.isSince("resume", "a", { elapsedTime: 6 })).toBe(false);
  expect(done.isSince("pause", "b", { elapsedTime: 6 })).toBe(false);
  now += 61_000;
  done.note("pause", "b");
  expect(done.isSince("pause", "a", { elapsedTime: 90_000 })).toBe(false);
});
