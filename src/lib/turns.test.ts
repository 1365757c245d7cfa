import { expect, test } from "vitest";
import { Turns } from "./turns.ts";

/** Turns of an event loop that a test makes go round, and time that a test lets pass. */
function bench() {
  const at = { now: 0, queued: [] as (() => void)[] };
  const turns = new Turns(
    () => at.now,
    (run) => at.queued.push(run),
  );
  const goRound = async (): Promise<void> => {
    for (const run of at.queued.splice(0)) run();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { at, turns, goRound };
}

test("work goes on at once while its turn is young, and then waits for the next one", async () => {
  const { at, turns, goRound } = bench();
  expect(turns.next()).toBeUndefined();
  at.now = 3;
  expect(turns.next()).toBeUndefined();
  at.now = 4;
  const waiting = turns.next();
  expect(waiting).toBeInstanceOf(Promise);
  await goRound();
  await waiting;
  await goRound();
  expect(turns.next()).toBeUndefined();
});

test("of many pieces that wait only as many run in a turn as fit into it, in their order, and all of them run", async () => {
  const { at, turns, goRound } = bench();
  const ran: number[][] = [];
  let turn: number[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < 10) {
      const number = next++;
      await turns.next();
      turn.push(number);
      at.now += 2;
    }
  };
  const all = Promise.all([worker(), worker(), worker()]);
  for (let rounds = 0; rounds < 8; rounds++) {
    await new Promise((resolve) => setImmediate(resolve));
    ran.push(turn);
    turn = [];
    await goRound();
  }
  await all;
  expect(ran.flat()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(Math.max(...ran.map((one) => one.length))).toBeLessThanOrEqual(4);
});
