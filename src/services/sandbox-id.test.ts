import { expect, test } from "vitest";
import { isSandboxId } from "#store/record-key.ts";
import { newSandboxId } from "./sandbox-id.ts";

const now = Date.UTC(2026, 0, 1);

test("an id is 24 lower-case letters and digits, which every part of AgentBox takes", () => {
  const ids = Array.from({ length: 500 }, (_, index) => newSandboxId(now + index));
  expect(ids.filter((id) => !/^[a-z0-9]{24}$/.test(id) || !isSandboxId(id))).toEqual([]);
});

test("ids grow with time and do not repeat", () => {
  const ids = Array.from({ length: 500 }, (_, index) => newSandboxId(now + index));
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(Array.from({ length: 2000 }, () => newSandboxId(now))).size).toBe(2000);
});
