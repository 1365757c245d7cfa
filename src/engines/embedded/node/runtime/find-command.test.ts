import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findCommand } from "./find-command.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-path-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("a command is found on PATH, in its order, if it may be run", () => {
  writeFileSync(join(folder, "plain"), "");
  writeFileSync(join(folder, "tool"), "");
  chmodSync(join(folder, "tool"), 0o755);
  expect(findCommand("tool", `/nowhere:${folder}`)).toBe(join(folder, "tool"));
  expect(findCommand("plain", folder)).toBeUndefined();
  expect(findCommand("no-such-command", folder)).toBeUndefined();
});

test("commands of administrators are found without being on PATH, relative folders on it are not looked at", () => {
  expect(findCommand("sh", "")).toBe("/usr/bin/sh");
  expect(findCommand("package.json", ".")).toBeUndefined();
});
