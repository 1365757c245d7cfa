import { expect, test } from "vitest";
import { SteppedClock } from "../../../../../test/world/stepped-clock.ts";
import { progressOfTree, withinHostDeadline } from "./host-deadline.ts";

/** Work that never ends, with what became of it. */
function endless(progress: () => string, signal?: AbortSignal) {
  const clock = new SteppedClock();
  const seen: { why?: string; kills: number } = { kills: 0 };
  const kill = (): void => void seen.kills++;
  const work = new Promise<never>(() => {});
  withinHostDeadline(work, { what: "rm", clock, signal, progress, kill }).catch((error: Error) => (seen.why = error.message));
  return { clock, seen };
}

test("a program that does nothing for a minute is killed", async () => {
  const { clock, seen } = endless(() => "the same");
  await clock.step(74_000);
  expect(seen).toEqual({ kills: 0 });
  await clock.step(1_000);
  expect(seen).toEqual({ kills: 1, why: "rm did nothing for 60 s, and was killed" });
});

test("a program that goes on may take half an hour on a slow machine, and no longer", async () => {
  let done = 0;
  const { clock, seen } = endless(() => String(done++));
  await clock.step(29 * 60_000);
  expect(seen).toEqual({ kills: 0 });
  await clock.step(60_000);
  expect(seen).toEqual({ kills: 1, why: "rm did not end within 1800 s, and was killed" });
});

test("a program that is not wanted any more is killed at once, for the reason that the caller gives", async () => {
  const stop = new AbortController();
  const { clock, seen } = endless(() => "", stop.signal);
  stop.abort(new Error("the node closes"));
  await clock.step(0);
  expect(seen).toEqual({ kills: 1, why: "the node closes" });
});

test("work that ends in time leaves no timer behind", async () => {
  const clock = new SteppedClock();
  const work = Promise.resolve("output");
  expect(await withinHostDeadline(work, { what: "du", clock, progress: () => "", kill: () => {} })).toBe("output");
  expect(clock.pending).toBe(0);
});

test("processor time counts as progress, and a process that is gone has made none", () => {
  const before = progressOfTree(process.pid);
  for (const end = performance.now() + 50; performance.now() < end;);
  expect(progressOfTree(process.pid)).not.toBe(before);
  expect(progressOfTree(0x7fff_fff0)).toBe(progressOfTree(0x7fff_fff0));
});
