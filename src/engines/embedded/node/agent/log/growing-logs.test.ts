import { appendFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { GrowingLogs, watchedLog } from "./growing-logs.ts";

const second = 1_000;
const log = { file: "/logs/box/main/0.log" };

/** A kernel that tells of changes when a test says so. */
class Kernel {
  readonly watched = new Map<string, () => void>();
  isFull = false;

  readonly watch = (file: string, onChange: () => void): (() => void) | undefined => {
    if (this.isFull) return undefined;
    this.watched.set(file, onChange);
    return () => void this.watched.delete(file);
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
  const kernel = new Kernel();
  const logs = new GrowingLogs<typeof log>(kernel.watch);
  logs.add(log, 0);
  expect(quietSeconds(logs, 0, 125)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 60, 120]);
  expect([...kernel.watched.keys()]).toEqual([log.file]);
});

test("a change has it looked at every second again, and watched no more", () => {
  const kernel = new Kernel();
  const logs = new GrowingLogs<typeof log>(kernel.watch);
  logs.add(log, 0);
  quietSeconds(logs, 0, 20);
  kernel.watched.get(log.file)?.();
  expect(kernel.watched.size).toBe(0);
  expect(logs.due(21 * second)).toEqual([log]);
  logs.looked(log, true, 21 * second);
  expect(quietSeconds(logs, 22, 40)).toEqual([22, 23, 24, 25, 26, 27, 28, 29, 30, 31]);
});

test("one look more is asked for when watching has begun: something may have been written just before", () => {
  const logs = new GrowingLogs<typeof log>(new Kernel().watch);
  logs.add(log, 0);
  expect(logs.looked(log, false, 9 * second)).toBe(false);
  expect(logs.looked(log, false, 10 * second)).toBe(true);
  logs.looked(log, true, 10 * second);
  expect(quietSeconds(logs, 11, 12)).toEqual([11, 12]);
});

test("a log that cannot be watched is looked at as before", () => {
  const kernel = new Kernel();
  kernel.isFull = true;
  const logs = new GrowingLogs<typeof log>(kernel.watch);
  logs.add(log, 0);
  expect(quietSeconds(logs, 0, 30)).toHaveLength(31);
});

test("one that was removed is neither watched nor looked at, whatever a look that was under way has found", () => {
  const kernel = new Kernel();
  const logs = new GrowingLogs<typeof log>(kernel.watch);
  logs.add(log, 0);
  quietSeconds(logs, 0, 20);
  logs.remove(log);
  expect(kernel.watched.size).toBe(0);
  logs.looked(log, true, 21 * second);
  expect(logs.due(100 * second)).toEqual([]);
});

test("the kernel tells of writes into a log that is a link to the disk of its pod", async () => {
  const root = await mkdtemp(join(tmpdir(), "agentbox-growing-"));
  const [place, disk] = [join(root, "logs"), join(root, "disk")];
  for (const folder of [place, disk]) await mkdir(folder);
  await writeFile(join(disk, "0.log"), "");
  await symlink(join(disk, "0.log"), join(place, "0.log"));
  const onChange = vi.fn<() => void>();
  const end = watchedLog(join(place, "0.log"), onChange);
  await appendFile(join(disk, "0.log"), "written");
  await expect.poll(() => onChange.mock.calls.length).toBeGreaterThan(0);
  end?.();
  await rm(root, { recursive: true });
});

test("a log that is not there cannot be watched", () => {
  expect(watchedLog(join(tmpdir(), "agentbox-no-such.log"), () => {})).toBeUndefined();
});
