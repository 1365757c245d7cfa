import { expect, test } from "vitest";
import { batchedOut } from "./batched-out.ts";
import { openLog } from "./log.ts";

function scene(isTTY = false) {
  const [written, later]: [string[], (() => void)[]] = [[], []];
  const batched = batchedOut({ isTTY, write: (text) => written.push(text) }, (run) => later.push(run));
  const log = openLog({ clock: { now: () => 0, after: () => ({ cancel: () => {} }) }, out: batched.out });
  const words = (): readonly string[] => written.map((text) => [...text.matchAll(/"msg":"(\w+)"/g)].map(([, word]) => word).join(" "));
  return { ...batched, log, later, words, written };
}

test("lines that come close to each other are written together, in their order", () => {
  const { log, later, words } = scene();
  log.info({}, "a");
  log.info({}, "b");
  expect([words(), later.length]).toEqual([[], 1]);
  later.shift()?.();
  log.info({}, "c");
  later.shift()?.();
  expect(words()).toEqual(["a b", "c"]);
});

test("a warning is written at once, with what came before it", () => {
  const { log, later, words } = scene();
  log.info({}, "a");
  log.warn({}, "b");
  log.error({}, "c");
  expect(words()).toEqual(["a b", "c"]);
  for (const run of later) run();
  expect(words()).toEqual(["a b", "c"]);
});

test("nothing is lost when the process ends before its time", () => {
  const { log, later, words, flush } = scene();
  log.info({}, "a");
  flush();
  for (const run of later) run();
  expect(words()).toEqual(["a"]);
});

test("who watches at a terminal sees each line when it comes", () => {
  const { log, written, later } = scene(true);
  log.info({}, "a");
  expect([written.length, later.length]).toEqual([1, 0]);
});
