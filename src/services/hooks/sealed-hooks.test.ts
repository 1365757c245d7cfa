import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import type { PostStartHook } from "#services/sandbox-service.ts";
import { HookSeal } from "./sealed-hooks.ts";

const { privateKey } = generateKeyPairSync("ed25519");
const hooks: readonly PostStartHook[] = [
  { exec: { command: ["login", "hunter2"], user: "root" } },
  { http: { port: 80, headers: { authorization: "hunter2" }, body: "hunter2" } },
];

test("sealed hooks show nothing, and every process with the control plane's key opens them", () => {
  const sealed = new HookSeal(privateKey).seal("s1", hooks) ?? "";
  expect(Buffer.from(sealed, "base64url").includes("hunter2")).toBe(false);
  expect(new HookSeal(privateKey).open("s1", sealed)).toEqual(hooks);
});

test("hooks do not open for another sandbox, with another key, or when a byte of them was changed", () => {
  const seal = new HookSeal(privateKey);
  const sealed = seal.seal("s1", hooks) ?? "";
  const changed = Buffer.from(sealed, "base64url");
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
  expect(seal.open("s2", sealed)).toBeUndefined();
  expect(new HookSeal(generateKeyPairSync("ed25519").privateKey).open("s1", sealed)).toBeUndefined();
  expect(seal.open("s1", changed.toString("base64url"))).toBeUndefined();
  expect(seal.open("s1", "")).toBeUndefined();
});

test("hooks that would not fit into an annotation are not sealed", () => {
  expect(new HookSeal(privateKey).seal("s1", [{ http: { port: 80, body: "x".repeat(64 * 1024) } }])).toBeUndefined();
});
