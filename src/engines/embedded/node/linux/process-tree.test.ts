import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { systemClock } from "#lib/clock.ts";
import { killTree } from "./process-tree.ts";
import { identify, readStat } from "./processes.ts";

function isRunning(pid: number): boolean {
  return !["Z", undefined].includes(readStat(pid)?.state);
}

test("a killed tree leaves no descendant, in another session or stopped either", async () => {
  // The grandchild is in a session of its own, and the child is stopped: neither hears a signal to the group, or SIGTERM.
  const script = "setsid sleep 1000 & echo $!; sh -c 'echo $$; kill -STOP $$' & wait";
  const child = spawn("sh", ["-c", script], { stdio: ["ignore", "pipe", "inherit"], detached: true });
  const exited = once(child, "exit");
  const lines: string[] = [];
  for await (const chunk of child.stdout.setEncoding("utf8")) {
    lines.push(...String(chunk).trim().split("\n"));
    if (lines.length === 2) break;
  }
  const root = identify(child.pid ?? 0);
  if (root === undefined) throw new Error("no child");
  const others = lines.map(Number);
  expect(others.every(isRunning)).toBe(true);
  expect(await killTree(root, { clock: systemClock, rootIsNodes: true })).toBe(true);
  await exited;
  expect([root.pid, ...others].filter(isRunning)).toEqual([]);
});

test("a process that is gone already has no tree", async () => {
  const child = spawn("echo", ["over"], { stdio: ["ignore", "pipe", "inherit"] });
  const identity = identify(child.pid ?? 0) ?? { pid: 0, startTime: 0 };
  await Promise.all([once(child, "exit"), text(child.stdout)]);
  expect(await killTree(identity, { clock: systemClock, rootIsNodes: true })).toBe(true);
});
