import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { SteppedClock } from "../../test/world/stepped-clock.ts";
import { keepSmall } from "./idle-memory.ts";

function started(): { requests: EventEmitter; clock: SteppedClock; collected: () => number } {
  const requests = new EventEmitter();
  const clock = new SteppedClock();
  let times = 0;
  keepSmall(
    requests,
    (run, ms) => clock.after(ms, run),
    () => (times += 1),
  );
  return { requests, clock, collected: () => times };
}

test("what starting left behind is collected once it is over", async () => {
  const { clock, collected } = started();
  await clock.step(4999);
  expect(collected()).toBe(0);
  await clock.step(1);
  expect(collected()).toBe(1);
  await clock.step(3_600_000);
  expect(collected()).toBe(1);
});

test("what being asked leaves behind is collected every 64 requests, and not while they are answered", async () => {
  const { requests, clock, collected } = started();
  await clock.step(5000);
  for (let round = 1; round <= 3; round++) {
    for (let i = 0; i < 64; i++) requests.emit("request");
    expect(collected()).toBe(round);
    await clock.step(20);
    expect(collected()).toBe(round + 1);
  }
});

test("a burst of requests is collected once", async () => {
  const { requests, clock, collected } = started();
  await clock.step(5000);
  for (let i = 0; i < 1000; i++) requests.emit("request");
  await clock.step(1000);
  expect(collected()).toBe(2);
});

test("what is done at first instead of collecting is done once", async () => {
  const requests = new EventEmitter();
  const clock = new SteppedClock();
  const done: string[] = [];
  keepSmall(
    requests,
    (run, ms) => clock.after(ms, run),
    () => done.push("collected"),
    () => done.push("first"),
  );
  await clock.step(5000);
  for (let i = 0; i < 64; i++) requests.emit("request");
  await clock.step(1000);
  expect(done).toEqual(["first", "collected"]);
});
