import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { sandboxTokens } from "./sandbox-tokens.ts";

const { privateKey } = generateKeyPairSync("ed25519");

function all(key = privateKey, sandboxId = "s1"): string[] {
  const tokens = sandboxTokens(key);
  return [tokens.accessTokenOf(sandboxId), tokens.trafficTokenOf(sandboxId)];
}

test("tokens are the same whenever they are asked for", () => {
  expect(all()).toEqual(all());
});

test("W22, W25: tokens differ by use, by sandbox and by key", () => {
  const others = [...all(), ...all(privateKey, "s2"), ...all(generateKeyPairSync("ed25519").privateKey)];
  expect(new Set(others).size).toBe(6);
});
