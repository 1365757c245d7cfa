import { beforeEach, expect, test } from "vitest";
import { recordedLog } from "../../../../../test/world/recorded-log.ts";
import { SteppedClock } from "../../../../../test/world/stepped-clock.ts";
import { FormerConnections } from "./former-connections.ts";

let clock: SteppedClock;
let ports: Set<number>;
let forgotten: number[];
let fails: boolean;
let former: FormerConnections;

beforeEach(() => {
  clock = new SteppedClock();
  ports = new Set();
  forgotten = [];
  fails = false;
  former = new FormerConnections({
    clock,
    log: recordedLog().log,
    hasPort: async (slot) => ports.has(slot),
    forget: async (slot) => {
      if (fails) throw new Error("no");
      forgotten.push(slot);
    },
  });
});

test("a slot that this process has not seen before may have connections of an earlier life", async () => {
  await former.forgetNow(3);
  expect(forgotten).toEqual([3]);
});

test("connections of a removed slot are forgotten as soon as its port is gone, and not again at its next use", async () => {
  ports.add(3);
  former.forgetSoon(3);
  await clock.step(1000);
  expect(forgotten).toEqual([]);
  ports.delete(3);
  await clock.step(1000);
  expect(forgotten).toEqual([3]);
  await former.forgetNow(3);
  expect(forgotten).toEqual([3]);
  await former.forgetNow(3);
  expect(forgotten).toEqual([3, 3]);
});

test("a slot that is used again at once is seen to at once", async () => {
  former.forgetSoon(3);
  await former.forgetNow(3);
  await clock.step(5000);
  expect(forgotten).toEqual([3]);
});

test("what could not be forgotten after a use is tried again before the next one, which fails if that fails", async () => {
  fails = true;
  former.forgetSoon(3);
  await clock.step(1000);
  await expect(former.forgetNow(3)).rejects.toThrow("no");
  fails = false;
  await former.forgetNow(3);
  expect(forgotten).toEqual([3]);
});

test("nothing happens after it was closed", async () => {
  former.forgetSoon(3);
  await former.close();
  await clock.step(5000);
  expect(forgotten).toEqual([]);
});
