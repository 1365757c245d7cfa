import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { abortable, ChildAbort } from "./abortable.ts";

describe("abortable", () => {
  test("gives the promise's own outcome when nobody aborts", async () => {
    const { signal } = new AbortController();
    await expect(abortable(Promise.resolve(7), signal)).resolves.toBe(7);
    await expect(abortable(Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
    await expect(abortable(Promise.resolve(7), undefined)).resolves.toBe(7);
  });

  test("rejects with the reason at the abort, and at once when it was aborted before", async () => {
    const abort = new AbortController();
    const waiting = abortable(new Promise(() => {}), abort.signal);
    abort.abort(new Error("gone home"));
    await expect(waiting).rejects.toThrow("gone home");
    await expect(abortable(new Promise(() => {}), abort.signal)).rejects.toThrow("gone home");
  });

  test("leaves no listener behind", async () => {
    const { signal } = new AbortController();
    await abortable(Promise.resolve(1), signal);
    await abortable(Promise.reject(new Error("no")), signal).catch(() => {});
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

describe("a child abort", () => {
  test("follows its parent, with the parent's reason", () => {
    const parent = new AbortController();
    using child = new ChildAbort(parent.signal);
    parent.abort(new Error("all stop"));
    expect(child.signal.reason).toEqual(new Error("all stop"));
    using late = new ChildAbort(parent.signal);
    expect(late.signal.aborted).toBe(true);
  });

  test("may be aborted without its parent", () => {
    const parent = new AbortController();
    using child = new ChildAbort(parent.signal);
    child.abort(new Error("only me"));
    expect([child.signal.aborted, parent.signal.aborted]).toEqual([true, false]);
  });

  test("leaves no listener on its parent when disposed", () => {
    const parent = new AbortController();
    new ChildAbort(parent.signal)[Symbol.dispose]();
    expect(getEventListeners(parent.signal, "abort")).toEqual([]);
  });
});
