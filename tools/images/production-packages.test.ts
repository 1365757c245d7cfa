import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Lock, parseLock, productionPackages } from "./production-packages.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "agentbox-packages-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function lockOf(packages: Lock["packages"], installed = Object.keys(packages)): Lock {
  for (const name of installed) mkdirSync(join(root, name), { recursive: true });
  return { packages };
}

const none = (): boolean => false;

test("what our packages need comes along, in the version they see, and nothing for development does", () => {
  const lock = lockOf({
    "": { dependencies: { a: "1", b: "1" } },
    "node_modules/a": { dependencies: { c: "1" } },
    "node_modules/a/node_modules/c": { dependencies: { d: "1" } },
    "node_modules/b": { dependencies: { c: "2" }, peerDependencies: { a: "1", tool: "1" } },
    "node_modules/c": { dependencies: { b: "1" } },
    "node_modules/d": {},
    "node_modules/tool": { dev: true },
    "node_modules/unused": {},
  });
  expect(productionPackages(lock, root, none)).toEqual([
    "node_modules/a",
    "node_modules/a/node_modules/c",
    "node_modules/b",
    "node_modules/c",
    "node_modules/d",
  ]);
});

test("what is left out takes along what only it needs", () => {
  const lock = lockOf({
    "": { dependencies: { bundler: "1", a: "1" } },
    "node_modules/bundler": { dependencies: { native: "1", shared: "1" } },
    "node_modules/native": {},
    "node_modules/shared": {},
    "node_modules/a": { dependencies: { shared: "1" } },
  });
  expect(productionPackages(lock, root, (name) => name === "bundler")).toEqual(["node_modules/a", "node_modules/shared"]);
});

test("binaries of other machines are no loss, a missing package is", () => {
  const packages: Lock["packages"] = {
    "": { dependencies: { a: "1" } },
    "node_modules/a": { dependencies: { "a-x64": "1" }, optionalDependencies: { "a-x64": "1", "a-arm64": "1" } },
    "node_modules/a-x64": {},
    "node_modules/a-arm64": {},
  };
  expect(productionPackages(lockOf(packages, ["node_modules/a", "node_modules/a-x64"]), root, none)).toEqual([
    "node_modules/a",
    "node_modules/a-x64",
  ]);
  rmSync(join(root, "node_modules/a"), { recursive: true });
  expect(() => productionPackages({ packages }, root, none)).toThrow(
    "the package a, which AgentBox needs, is not installed: run make setup",
  );
});

test("of AgentBox's own lock file the served parts are found, without the bundler", () => {
  const repository = join(import.meta.dirname, "../..");
  const lock = parseLock(readFileSync(join(repository, "package-lock.json"), "utf8"));
  const found = productionPackages(lock, repository, (name) => name === "rolldown");
  expect(found).toEqual(
    expect.arrayContaining(["node_modules/fastify", "node_modules/pg", "node_modules/undici", "node_modules/pg-protocol"]),
  );
  expect(found.filter((name) => /rolldown|vitest|typescript|node-linux/.test(name))).toEqual([]);
});
