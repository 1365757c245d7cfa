import { describe, expect, test } from "vitest";
import { aSandboxPod } from "../../test/world/sandbox-pods.ts";
import { podConditionReasons } from "./keys.ts";
import { freezeFailure, isFrozen, pauseWish } from "./pause.ts";

const wish = "2026-01-01T10:00:00Z";
const failure = { status: "False", reason: podConditionReasons.freezeFailed, message: "no freezer" } as const;

describe("a pause", () => {
  test("is wished by an annotation and answered by a condition", () => {
    expect(pauseWish(aSandboxPod("p"))).toBeUndefined();
    expect(pauseWish(aSandboxPod("p", { pauseWish: wish }))).toBe(wish);
    expect(isFrozen(aSandboxPod("p", { pauseWish: wish }))).toBe(false);
    expect(isFrozen(aSandboxPod("p", { paused: { status: "False" } }))).toBe(false);
    expect(isFrozen(aSandboxPod("p", { paused: {} }))).toBe(true);
  });

  test("that the node cannot grant says why", () => {
    expect(freezeFailure(aSandboxPod("p", { pauseWish: wish, paused: { ...failure, lastTransitionTime: wish } }))).toBe("no freezer");
    expect(freezeFailure(aSandboxPod("p", { pauseWish: wish, paused: failure }))).toBe("no freezer");
  });

  test("is not failed by the answer to an earlier wish", () => {
    const before = { ...failure, lastTransitionTime: "2026-01-01T09:59:59Z" };
    expect(freezeFailure(aSandboxPod("p", { pauseWish: wish, paused: before }))).toBeUndefined();
  });

  test("that nobody wishes cannot fail", () => {
    expect(freezeFailure(aSandboxPod("p", { paused: failure }))).toBeUndefined();
    expect(freezeFailure(aSandboxPod("p", { pauseWish: wish, paused: { status: "False", reason: "Thawed" } }))).toBeUndefined();
  });
});
