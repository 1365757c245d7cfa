import { describe, expect, test } from "vitest";
import { aSandboxPod } from "../../test/world/sandbox-pods.ts";
import { podConditionReasons } from "./keys.ts";
import type { PodCondition } from "./pod.ts";
import { freezeFailedMessage, freezeFailure, isFrozen, pauseWish } from "./pause.ts";

const wish = "2026-01-01T10:00:00.250Z";
const failed = (of: string): Partial<PodCondition> => ({
  status: "False",
  reason: podConditionReasons.freezeFailed,
  message: freezeFailedMessage(of, "no freezer"),
  lastTransitionTime: "2026-01-01T10:00:00Z",
});

describe("a pause", () => {
  test("is wished by an annotation and answered by a condition", () => {
    expect(pauseWish(aSandboxPod("p"))).toBeUndefined();
    expect(pauseWish(aSandboxPod("p", { pauseWish: wish }))).toBe(wish);
    expect(isFrozen(aSandboxPod("p", { pauseWish: wish }))).toBe(false);
    expect(isFrozen(aSandboxPod("p", { paused: { status: "False" } }))).toBe(false);
    expect(isFrozen(aSandboxPod("p", { paused: {} }))).toBe(true);
  });

  test("that the node cannot grant says why", () => {
    expect(freezeFailure(aSandboxPod("p", { pauseWish: wish, paused: failed(wish) }))).toBe("no freezer");
  });

  test("is not failed by the answer to an earlier wish", () => {
    expect(freezeFailure(aSandboxPod("p", { pauseWish: wish, paused: failed("2026-01-01T10:00:00.249Z") }))).toBeUndefined();
    const { message: _, ...silent } = failed(wish);
    expect(freezeFailure(aSandboxPod("p", { pauseWish: wish, paused: silent }))).toBeUndefined();
  });

  test("that nobody wishes cannot fail", () => {
    expect(freezeFailure(aSandboxPod("p", { paused: failed(wish) }))).toBeUndefined();
    expect(freezeFailure(aSandboxPod("p", { pauseWish: wish, paused: { status: "False", reason: "Thawed" } }))).toBeUndefined();
  });
});
