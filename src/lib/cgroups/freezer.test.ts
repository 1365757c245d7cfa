import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { freezerTree } from "./freezer.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "agentbox-freezer-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test("cgroup v2 has one tree, which can be frozen", () => {
  writeFileSync(join(root, "cgroup.controllers"), "cpu memory\n");
  expect(freezerTree(root)).toEqual({ layout: "unified", top: root });
});

test("cgroup v1 has a tree for it, also where v2 is mounted beside it", () => {
  mkdirSync(join(root, "freezer"));
  mkdirSync(join(root, "unified"));
  writeFileSync(join(root, "unified/cgroup.controllers"), "");
  writeFileSync(join(root, "freezer/cgroup.procs"), "1\n");
  expect(freezerTree(root)).toEqual({ layout: "hybrid", top: join(root, "freezer") });
});

test("a folder without cgroups has none", () => expect(freezerTree(root)).toBeUndefined());
