import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { recordedLog } from "../../../../../test/world/recorded-log.ts";
import { Trash } from "./trash.ts";

let folder: string;
let trash: Trash;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-trash-"));
  trash = new Trash(join(folder, "trash"), recordedLog().log);
});
afterEach(async () => {
  await trash.close();
  rmSync(folder, { recursive: true });
});

test("what is thrown away is gone at once and removed later", async () => {
  mkdirSync(join(folder, "a/b"), { recursive: true });
  writeFileSync(join(folder, "a/b/c"), "x");
  trash.take(join(folder, "a"));
  trash.take(join(folder, "nothing"));
  expect(existsSync(join(folder, "a"))).toBe(false);
  await trash.emptied();
  expect(readdirSync(join(folder, "trash"))).toEqual([]);
});

test("what comes while something is being removed is removed too", async () => {
  for (const name of ["a", "b", "c"]) {
    mkdirSync(join(folder, name));
    trash.take(join(folder, name));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await trash.emptied();
  expect(readdirSync(join(folder, "trash"))).toEqual([]);
});

test("what another life has left is removed", async () => {
  await trash.close();
  mkdirSync(join(folder, "trash/left"), { recursive: true });
  trash = new Trash(join(folder, "trash"), recordedLog().log);
  await trash.emptied();
  expect(readdirSync(join(folder, "trash"))).toEqual([]);
});

test("folders deeper than a path can be long are removed", async () => {
  const name = "d".repeat(200);
  const start = process.cwd();
  try {
    mkdirSync(join(folder, "deep"));
    process.chdir(join(folder, "deep"));
    for (let depth = 0; depth < 30; depth++) {
      mkdirSync(name);
      process.chdir(name);
    }
  } finally {
    process.chdir(start);
  }
  trash.take(join(folder, "deep"));
  await trash.emptied();
  expect(readdirSync(join(folder, "trash"))).toEqual([]);
});
