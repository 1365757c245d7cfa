import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { RotatingFile, type RotationLimits } from "./rotating-file.ts";

const limits = { maxBytes: 1000, maxFiles: 3, maxPending: 1_000_000 };

function scene(over: Partial<RotationLimits> = {}, prepare: (file: string) => void = () => {}) {
  const folder = mkdtempSync(join(tmpdir(), "agentbox-rotating-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "agentbox.log");
  prepare(file);
  const problems: string[] = [];
  const clock = new SteppedClock();
  const open = (): RotatingFile =>
    new RotatingFile({ file, clock, onProblem: (message) => problems.push(message), limits: { ...limits, ...over } });
  return { folder, file, problems, clock, open };
}

const line = (number: number): string => `${JSON.stringify({ number, text: "x".repeat(70) })}\n`;

test("however much is written while it runs, no more is kept than the limits say, and it is the newest", async () => {
  const { folder, file, open } = scene();
  const log = open();
  for (let number = 0; number < 5000; number++) {
    log.write(line(number));
    if (number % 100 === 0) await new Promise(setImmediate);
  }
  await log[Symbol.asyncDispose]();
  expect(readdirSync(folder).sort()).toEqual(["agentbox.log", "agentbox.log.1", "agentbox.log.2"]);
  for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).size).toBeLessThanOrEqual(1000 + 100);
  const kept = [`${file}.2`, `${file}.1`, file].flatMap((name) => readFileSync(name, "utf8").trim().split("\n"));
  const numbers = kept.filter((text) => text !== "").map((text) => (JSON.parse(text) as { number: number }).number);
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => 5000 - numbers.length + index));
});

test("what an earlier server left is gone on with, and put aside where it is too large", async () => {
  const small = scene({}, (file) => writeFileSync(file, "before\n"));
  await using log = small.open();
  log.write("after\n");
  await log[Symbol.asyncDispose]();
  expect(readFileSync(small.file, "utf8")).toBe("before\nafter\n");

  const large = scene({}, (file) => writeFileSync(file, "b".repeat(2000)));
  await using other = large.open();
  other.write("after\n");
  await other[Symbol.asyncDispose]();
  expect([readFileSync(large.file, "utf8"), statSync(`${large.file}.1`).size]).toEqual(["after\n", 2000]);
  expect(statSync(large.file).mode & 0o777).toBe(0o600);
});

test("a disk that is slower than the log costs lines, and not memory; how many is said", async () => {
  const { file, open } = scene({ maxPending: 500, maxBytes: 1_000_000 });
  const log = open();
  // Nothing is written until this function waits.
  for (let number = 0; number < 100; number++) log.write(line(number));
  await expect.poll(() => readFileSync(file, "utf8").trim().split("\n").length).toBeGreaterThan(0);
  await new Promise((resolve) => setTimeout(resolve, 20));
  log.write(line(100));
  await log[Symbol.asyncDispose]();
  const lines = readFileSync(file, "utf8").trim().split("\n");
  const said = lines.map((text) => JSON.parse(text) as { dropped?: number }).find(({ dropped }) => dropped !== undefined);
  expect(said).toMatchObject({ level: "warn", msg: "log lines dropped" });
  expect((said?.dropped ?? 0) + lines.length - 1).toBe(101);
});

test("a file that cannot be opened is tried again later, and the server goes on", async () => {
  const { file, problems, clock, open } = scene({ maxBytes: 1_000_000 }, (at) => mkdirSync(at));
  const log = open();
  log.write("lost\n");
  log.write("lost too\n");
  expect(problems).toEqual([expect.stringContaining(`cannot write ${file}: EISDIR`)]);
  rmdirSync(file);
  await clock.step(5000);
  log.write("kept\n");
  await log[Symbol.asyncDispose]();
  expect(readFileSync(file, "utf8")).toMatch(/"dropped":2.*\nkept\n$/);
});

test("what comes after the end is not written, and opens nothing", async () => {
  const { file, clock, open } = scene();
  const log = open();
  await log[Symbol.asyncDispose]();
  await rm(file);
  await clock.step(10_000);
  log.write("late\n");
  expect(existsSync(file)).toBe(false);
});
