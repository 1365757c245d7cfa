import { appendFileSync, existsSync, mkdtempSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { rotateLog } from "./rotate-log.ts";

const limits = { maxBytes: 1000, maxFiles: 3 };

function logOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "agentbox-log-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "0.log");
  writeFileSync(file, text);
  return file;
}

test("what was written since the look is kept too", async () => {
  const file = logOf("a".repeat(1100) + "b".repeat(500));
  expect(await rotateLog(file, 1100, limits)).toEqual({ leftOut: 600 });
  expect(readFileSync(`${file}.1`, "utf8")).toBe("a".repeat(500) + "b".repeat(500));
  expect(statSync(file).size).toBe(0);
});

test("a log that grows while it is copied is kept to the size of one file, its end", async () => {
  const text = "a".repeat(1 << 20);
  const file = logOf(text);
  const rotated = rotateLog(file, text.length, { maxBytes: text.length, maxFiles: 3 });
  // Looked at and being read, as its first bytes are there.
  while (!existsSync(`${file}.1`)) await setImmediate();
  appendFileSync(file, "b".repeat(500));
  expect(await rotated).toEqual({ leftOut: 500 });
  expect(readFileSync(`${file}.1`, "utf8")).toBe(text.slice(500) + "b".repeat(500));
});

test("of a log that was made to look endless since the look only the end is copied, once", async () => {
  const file = logOf("a".repeat(1100));
  truncateSync(file, 1 << 30);
  expect(await rotateLog(file, 1100, limits)).toEqual({ leftOut: (1 << 30) - 1000 });
  expect([statSync(file).size, statSync(`${file}.1`).size]).toEqual([0, 1000]);
});

test("a writer that is faster than the look keeps its last output", async () => {
  const file = logOf("a".repeat(1100) + "b".repeat(5_000));
  expect(await rotateLog(file, 1100, limits)).toEqual({ leftOut: 5_100 });
  expect(readFileSync(`${file}.1`, "utf8")).toBe("b".repeat(1000));
});
