import { expect, test } from "vitest";
import { SteppedClock } from "../../test/world/stepped-clock.ts";
import { type Logger, openLog } from "./log.ts";

function logTo(isTTY: boolean): { log: Logger; text: () => string } {
  const written: string[] = [];
  const clock = new SteppedClock(Date.UTC(2026, 0, 2, 3, 4, 5, 678));
  const log = openLog({ clock, out: { isTTY, write: (line) => written.push(line) } });
  return { log, text: () => written.join("") };
}

test("a line is one JSON object with time, level, message and fields", () => {
  const { log, text } = logTo(false);
  log.info({ pool: "team/py", wanted: 3 }, "pool scaled");
  expect(text()).toMatch(/^\{.*\}\n$/);
  expect(JSON.parse(text())).toEqual({ time: "2026-01-02T03:04:05.678Z", level: "info", msg: "pool scaled", pool: "team/py", wanted: 3 });
});

test("fields given once are in every line of that logger", () => {
  const { log, text } = logTo(false);
  log.with({ controller: "pool" }).with({ key: "a/b" }).warn({ attempt: 2 }, "reconcile failed");
  expect(JSON.parse(text())).toMatchObject({ level: "warn", controller: "pool", key: "a/b", attempt: 2 });
});

test("errors are logged with their cause, secrets are not, wherever they come from", () => {
  const { log, text } = logTo(false);
  const error = new Error("no answer", { cause: new Error("sent Bearer s3cr3t") });
  log.with({ apiKey: "s3cr3t" }).error({ error, headers: { Authorization: "Bearer s3cr3t" } }, "call failed");
  expect(JSON.parse(text())).toMatchObject({ level: "error", error: { type: "Error", message: "no answer", cause: { type: "Error" } } });
  expect(text()).not.toContain("s3cr3t");
});

test("at a terminal a line is for people, with the stack below", () => {
  const { log, text } = logTo(true);
  log.info({ pool: "team/py", note: "two words", idle: { now: 1 }, url: "http://localhost:1/x" }, "pool scaled");
  log.error({ error: new Error("no answer") }, "call failed");
  const [first, second, ...stack] = text().split("\n");
  expect(first).toBe('03:04:05.678 info  pool scaled pool=team/py note="two words" idle={"now":1} url=http://localhost:1/x');
  expect(second).toBe('03:04:05.678 error call failed error="no answer"');
  expect(stack[0]).toBe("Error: no answer");
  expect(stack[1]).toMatch(/^\s+at .*log\.test\.ts/);
});
