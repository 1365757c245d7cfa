import { expect, test } from "vitest";
import { GrowingLogs } from "./growing-logs.ts";

const second = 1_000;
const log = { file: "/logs/box/main/0.log" };

/** A kernel that tells of changes when a test says so. */
class Folders {
  readonly watched = new Map<string, () => void>();
  isFull = false;

  readonly watch = (folder: string, onChange: () => void): (() => void) | undefined => {
    if (this.isFull) return undefined;
    this.watched.set(folder, onChange);
    return () => void this.watched.delete(folder);
  };
}

/** Looked at every second, and nothing was written. Returns when it was looked at. */
function quietSeconds(logs: GrowingLogs<typeof log>, fromS: number, toS: number): readonly number[] {
  const looks: number[] = [];
  for (let at = fromS; at <= toS; at++) {
    for (const one of logs.due(at * second)) {
      looks.push(at);
      logs.looked(one, false, at * second);
    }
  }
  return looks;
}

test("a log in which nothing is written is looked at for ten seconds, and then once a minute", () => {
  const folders = new Folders();
  const logs = new GrowingLogs<typeof log>(folders.watch);
  logs.add(log, 0);
  expect(quietSeconds(logs, 0, 125)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 60, 120]);
  expect([...folders.watched.keys()]).toEqual(["/logs/box/main"]);
});

test("a change in its folder has it looked at every second again, and the folder watched no more", () => {
  const folders = new Folders();
  const logs = new GrowingLogs<typeof log>(folders.watch);
  logs.add(log, 0);
  quietSeconds(logs, 0, 20);
  folders.watched.get("/logs/box/main")?.();
  expect(folders.watched.size).toBe(0);
  expect(logs.due(21 * second)).toEqual([log]);
  logs.looked(log, true, 21 * second);
  expect(quietSeconds(logs, 22, 40)).toEqual([22, 23, 24, 25, 26, 27, 28, 29, 30, 31]);
});

test("one look more is asked for when watching has begun: something may have been written just before", () => {
  const logs = new GrowingLogs<typeof log>(new Folders().watch);
  logs.add(log, 0);
  expect(logs.looked(log, false, 9 * second)).toBe(false);
  expect(logs.looked(log, false, 10 * second)).toBe(true);
  logs.looked(log, true, 10 * second);
  expect(quietSeconds(logs, 11, 12)).toEqual([11, 12]);
});

test("a log whose folder cannot be watched is looked at as before", () => {
  const folders = new Folders();
  folders.isFull = true;
  const logs = new GrowingLogs<typeof log>(folders.watch);
  logs.add(log, 0);
  expect(quietSeconds(logs, 0, 30)).toHaveLength(31);
});

test("one that was removed is neither watched nor looked at, whatever a look that was under way has found", () => {
  const folders = new Folders();
  const logs = new GrowingLogs<typeof log>(folders.watch);
  logs.add(log, 0);
  quietSeconds(logs, 0, 20);
  logs.remove(log);
  expect(folders.watched.size).toBe(0);
  logs.looked(log, true, 21 * second);
  expect(logs.due(100 * second)).toEqual([]);
});
