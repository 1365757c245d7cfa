import { expect, test } from "vitest";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { apiKeySecretType, labelKeys } from "#model/keys.ts";
import { countUse } from "./count-use.ts";

test("keys are counted by their team, and all of them for the server", () => {
  const key = (team: string) => ({ type: apiKeySecretType, metadata: { labels: { [labelKeys.team]: team } } });
  const secrets = [key("red"), key("red"), key("blue"), { type: "Opaque", metadata: { labels: { [labelKeys.team]: "red" } } }];
  // Of the cache nothing else is asked for keys.
  const cache = { system: { secrets: { objects: { list: () => secrets.values() } } } } as unknown as SandboxCache;
  const { keys } = countUse(cache);
  expect([keys("red"), keys("blue"), keys("green"), keys(undefined)]).toEqual([2, 1, 0, 3]);
});
