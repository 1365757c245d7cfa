/** Images are made by strangers: what is read from their files must be theirs, wherever their links point. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeNode } from "#lib/native/files.ts";
import { readInsideRoot } from "./inside-root.ts";

let folder: string;
let root: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-inside-"));
  root = join(folder, "root");
  mkdirSync(join(root, "etc"), { recursive: true });
  writeFileSync(join(folder, "secret"), "the machine's");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function read(path: string, maxBytes = 1000): string | undefined {
  return readInsideRoot(root, path, maxBytes);
}

test("a file is read up to the limit", () => {
  writeFileSync(join(root, "etc/passwd"), "root:x:0:0");
  expect(read("etc/passwd")).toBe("root:x:0:0");
  expect(read("/etc/passwd", 4)).toBe("root");
});

test("an absolute link leads to a place below the root, never to the machine's file", () => {
  symlinkSync(join(folder, "secret"), join(root, "etc/passwd"));
  expect(read("etc/passwd")).toBeUndefined();
  mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, folder, "secret"), "the image's");
  expect(read("etc/passwd")).toBe("the image's");
});

test("a link that climbs, or a path that does, ends at the root", () => {
  symlinkSync("../../secret", join(root, "etc/passwd"));
  expect(read("etc/passwd")).toBeUndefined();
  expect(read("../secret")).toBeUndefined();
  writeFileSync(join(root, "secret"), "the image's");
  expect(read("etc/passwd")).toBe("the image's");
  expect(read("../secret")).toBe("the image's");
});

test("a link in the middle of a path stays inside, too", () => {
  symlinkSync(folder, join(root, "etc/outside"));
  expect(read("etc/outside/secret")).toBeUndefined();
});

test("links of the kernel in /proc lead nowhere", () => {
  // The root as it would be with a proc of the machine in it.
  for (const path of ["proc/self/root/etc/passwd", "proc/self/exe", "proc/self/cwd/package.json"]) {
    expect(readInsideRoot("/", path, 10)).toBeUndefined();
  }
});

test("what is no file is not read, and not waited for", () => {
  makeNode(Buffer.from(join(root, "etc/passwd")), 0o010600);
  expect(read("etc/passwd")).toBeUndefined();
  expect(read("etc")).toBeUndefined();
  expect(read("etc/none")).toBeUndefined();
  expect(readInsideRoot("/", "dev/null", 10)).toBeUndefined();
});

test("a circle of links ends", () => {
  symlinkSync("b", join(root, "a"));
  symlinkSync("a", join(root, "b"));
  expect(read("a")).toBeUndefined();
});
