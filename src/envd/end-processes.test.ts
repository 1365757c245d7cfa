/**
 * The real signal ends every process that it can reach, so no test here sends it: what would be killed is counted. That it works is seen in
 * containers (test/node/retiring.test.ts).
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { endProcesses } from "./end-processes.ts";

function countedKills(): { readonly killAll: () => void; readonly count: () => number } {
  let kills = 0;
  return { killAll: () => void (kills += 1), count: () => kills };
}

test("where the first process is not the sandbox's own init, nothing is ended, because the namespace is not the sandbox's", async () => {
  const { killAll, count } = countedKills();
  expect(await endProcesses("/.envd/init", killAll)).toBe(false);
  expect(count()).toBe(0);
});

test("where it is, all are ended again and again, and one that stays is told about", async () => {
  const { killAll, count } = countedKills();
  const [first = ""] = readFileSync("/proc/1/cmdline", "utf8").split("\0", 1);
  // A kill that does nothing leaves it alone.
  const stays = spawn("sleep", ["600"]);
  onTestFinished(() => void stays.kill());
  expect(await endProcesses(first, killAll)).toBe(false);
  expect(count()).toBe(20);
});
