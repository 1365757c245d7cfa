import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { systemClock } from "#lib/clock.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { awaitEnd, processorTicks } from "./await-end.ts";

test("a process that still works is waited for, however long it takes", async () => {
  const clock = new SteppedClock();
  const endsAt = clock.now() + 60_000;
  let ticks = 0;
  const end = awaitEnd(1, { clock, stillMs: 1000, progress: () => (clock.now() >= endsAt ? undefined : ticks++) });
  for (let second = 0; second < 61; second++) await clock.step(1000);
  expect(await end).toBe("ended");
});

test("a process that does nothing any more is given up", async () => {
  const clock = new SteppedClock();
  const end = awaitEnd(1, { clock, stillMs: 1000, progress: () => 7 });
  await clock.step(2000);
  expect(await end).toBe("stuck");
});

test("the end of a real process is seen, and its processor time while it lives", async () => {
  const child = spawn(process.execPath, ["-e", "process.stdout.write('up'); setInterval(() => {}, 1000)"]);
  await once(child.stdout, "data");
  const pid = child.pid ?? 0;
  expect(processorTicks(pid)).toBeGreaterThan(0);
  const end = awaitEnd(pid, { clock: systemClock, stillMs: 60_000 });
  const closed = once(child, "close");
  child.kill();
  expect(await end).toBe("ended");
  await closed;
  expect(processorTicks(pid)).toBeUndefined();
});
