import { expect, test } from "vitest";
import { isSandboxId } from "#store/record-key.ts";
import { isSandboxIdOfAbout, newSandboxId } from "./sandbox-id.ts";

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

test("an id tells about when it was given out; what is no id was never", () => {
  const id = newSandboxId(now);
  const [last, first] = [36 ** 8 * 3 - 1, 36 ** 8 * 3];
  expect([isSandboxIdOfAbout(first, newSandboxId(last), 1000), isSandboxIdOfAbout(last, newSandboxId(first), 1000)]).toEqual([true, true]);
  expect([-1001, -1000, 0, 1000, 1001].map((later) => isSandboxIdOfAbout(now + later, id, 1000))).toEqual([false, true, true, true, false]);
  expect(
    ["", "nobody", id.slice(1), `${id}0`, id.toUpperCase(), `${id.slice(0, 23)}_`].filter((text) => isSandboxIdOfAbout(now, text, 1000)),
  ).toEqual([]);
});
