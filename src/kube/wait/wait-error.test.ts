import { describe, expect, test } from "vitest";
import { isWaitError, WaitError } from "./wait-error.ts";

const conflict = new WaitError("pods ns/p", { code: "conflict", existing: "pause", requested: "resume" }, { message: "no" });

describe("a wait's error is recognised", () => {
  test("by any of its fields, and by all that are given", () => {
    expect(isWaitError(conflict)).toBe(true);
    expect(isWaitError(conflict, { code: "conflict" })).toBe(true);
    expect(isWaitError(conflict, { existing: "pause" })).toBe(true);
    expect(isWaitError(conflict, { code: "conflict", existing: "pause", requested: "resume" })).toBe(true);
  });

  test("not by its class alone when fields are asked for", () => {
    expect(isWaitError(conflict, { existing: "ready" })).toBe(false);
    expect(isWaitError(conflict, { code: "gone" })).toBe(false);
    expect(isWaitError(conflict, { action: "pause" })).toBe(false);
    expect(isWaitError(new Error("no"), {})).toBe(false);
    expect(isWaitError(undefined)).toBe(false);
  });

  test("and keeps the cause", () => {
    const cause = new Error("why");
    expect(new WaitError("pods ns/p", { code: "gone", action: "ready" }, { message: "gone", cause }).cause).toBe(cause);
    expect("cause" in conflict).toBe(false);
  });
});
