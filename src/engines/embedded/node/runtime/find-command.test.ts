import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findCommand, findRuntime } from "./find-command.ts";

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

test("a runtime is the one that was chosen, else the one that was built, else the machine's own", () => {
  const [built, chosen, own] = ["cache/runc/runc", "chosen", "bin/runc"].map((path) => join(folder, path));
  for (const path of [built, chosen, own]) {
    mkdirSync(dirname(path ?? ""), { recursive: true });
    writeFileSync(path ?? "", "");
    chmodSync(path ?? "", 0o755);
  }
  const env = { PATH: join(folder, "bin"), AGENTBOX_CACHE: join(folder, "cache") };
  expect(findRuntime("runc", { ...env, AGENTBOX_RUNC: chosen })).toBe(chosen);
  expect(findRuntime("runc", { ...env, AGENTBOX_RUNC: join(folder, "missing") })).toBeUndefined();
  expect(findRuntime("runc", env)).toBe(built);
  expect(findRuntime("runc", { ...env, AGENTBOX_CACHE: folder })).toBe(own);
});

test("commands of administrators are found without being on PATH, relative folders on it are not looked at", () => {
  expect(findCommand("sh", "")).toBe("/usr/bin/sh");
  expect(findCommand("package.json", ".")).toBeUndefined();
});
