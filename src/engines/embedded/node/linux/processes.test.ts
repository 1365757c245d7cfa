import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { decodeWaitStatus, HeldProcess, identify, parseStat, signalGroup } from "./processes.ts";

test("the name of a program may hold anything, the fields after it are found", () => {
  const fields = Array.from({ length: 50 }, (_, index) => String(index));
  fields[0] = "Z";
  fields[19] = "7777";
  fields[49] = "1792";
  expect(parseStat(`12 (a) b) (c) ${fields.join(" ")}\n`)).toEqual({ state: "Z", parent: 1, startTime: 7777, waitStatus: 1792 });
});

test.each([
  [0, { code: 0 }],
  [1792, { code: 7 }],
  [9, { code: 137, signal: 9 }],
  [139, { code: 139, signal: 11 }],
])("wait status %d is %j", (status, exit) => {
  expect(decodeWaitStatus(status)).toEqual(exit);
});

test("a process is the one that was meant only as long as its start time fits", () => {
  const me = identify(process.pid);
  expect(me).toMatchObject({ pid: process.pid });
  const other = { pid: process.pid, startTime: (me?.startTime ?? 0) + 1 };
  expect(HeldProcess.hold(other)).toBeUndefined();
  expect(identify(2 ** 22 + 1)).toBeUndefined();
});

test("a held process tells when it ends, takes signals until then, and none afterwards", async () => {
  const child = spawn("sleep", ["1000"], { stdio: "ignore" });
  const collected = once(child, "exit");
  const held = HeldProcess.hold(identify(child.pid ?? 0) ?? { pid: 0, startTime: 0 });
  const ended = new Promise<void>((resolve) => held?.onEnd(resolve));
  expect(held?.readExit()).toBeUndefined();
  expect(held?.signal("SIGKILL")).toBe(true);
  await Promise.all([ended, collected]);
  expect(held?.signal("SIGTERM")).toBe(false);
  held?.release();
  held?.release();
});

test("a process group that is gone is no failure", () => {
  expect(() => signalGroup(2 ** 22 - 7, "SIGTERM")).not.toThrow();
});
