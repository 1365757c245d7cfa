import { describe, expect, test } from "vitest";
import { checkReady } from "#read-model/sandbox-checkers.ts";
import { annotationKeys, labelKeys, podConditions, sandboxPhases } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { aPoolPod } from "../../test/world/pool-pods.ts";
import { isFresh, useCountOf, whyNotClaimable } from "./claimable.ts";

const recycled = { phase: "completed", targetPodPhase: "idle", updateTimestamp: "2026-01-01T00:00:00.000Z" };

describe("an idle pod", () => {
  test("may be claimed when it is new, or recycled", () => {
    expect(whyNotClaimable(aPoolPod())).toBeUndefined();
    expect(whyNotClaimable(aPoolPod({ use: 7, state: recycled }))).toBeUndefined();
  });

  test("that is in another phase is not idle", () => {
    const others = sandboxPhases.filter((phase) => phase !== "idle");
    expect(others.map((phase) => whyNotClaimable(aPoolPod({ phase, id: "i1" })))).toEqual(others.map(() => "not-idle"));
    expect(whyNotClaimable(aPoolPod({ metadata: { labels: {} } }))).toBe("not-idle");
  });

  test.for<[string, Pod]>([
    ["without a Ready condition", aPoolPod({ status: { conditions: [] } })],
    ["that is not ready", aPoolPod({ ready: false })],
    ["whose readiness is not known", aPoolPod({ status: { conditions: [{ type: "Ready", status: "Unknown" }] } })],
    ["that is pending", aPoolPod({ status: { phase: "Pending" } })],
    ["without an address", aPoolPod({ status: { podIP: "" } })],
    ["that no node has reported", { ...aPoolPod(), status: {} }],
    [
      "that is frozen",
      aPoolPod({
        status: {
          conditions: [
            { type: "Ready", status: "True" },
            { type: podConditions.paused, status: "True" },
          ],
        },
      }),
    ],
    ["that is to be frozen", aPoolPod({ annotations: { [annotationKeys.paused]: "2026-01-01T00:00:00Z" } })],
  ])("W4: %s is not handed out", ([, pod]) => {
    expect(whyNotClaimable(pod)).toBe("not-ready");
  });

  test("W4: that is being deleted is not handed out, however ready", () => {
    expect(whyNotClaimable(aPoolPod({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }))).toBe("terminating");
  });

  test("W4: that is closed to claims because it is to be deleted is not handed out, however ready", () => {
    expect(whyNotClaimable(aPoolPod({ annotations: { [annotationKeys.leaving]: "2026-01-01T00:00:00Z" } }))).toBe("terminating");
  });

  test("W16: that is marked for scale-down may still be claimed", () => {
    const marked = aPoolPod({ annotations: { [annotationKeys.chosenToGo]: "2026-01-01T00:00:00Z" } });
    expect(whyNotClaimable(marked)).toBeUndefined();
  });

  test("is ready in the same sense in which a waiting create calls it so", () => {
    // What the checker adds is that a sandbox is there, so the pod is shown to it as one.
    const asSandbox = (pod: Pod): Pod => ({
      ...pod,
      metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, [labelKeys.sandboxPhase]: "running", [labelKeys.sandboxId]: "i1" } },
    });
    const pods = [
      aPoolPod(),
      aPoolPod({ ready: false }),
      aPoolPod({ status: { podIP: "" } }),
      aPoolPod({ annotations: { [annotationKeys.paused]: "2026-01-01T00:00:00Z" } }),
    ];
    for (const pod of pods) expect(whyNotClaimable(pod) === undefined).toBe(checkReady(asSandbox(pod), 0).kind === "satisfied");
  });
});

describe("a pod is fresh", () => {
  test("when nobody has used it, or a recycling was finished", () => {
    expect([aPoolPod(), aPoolPod({ use: 3, state: recycled })].map(isFresh)).toEqual([true, true]);
  });

  test.for<[string, Pod]>([
    ["carries a sandbox's id", aPoolPod({ id: "i1" })],
    ["was used, and nothing says that it was recycled", aPoolPod({ use: 1 })],
    [
      "calls itself idle while its containers are still being exchanged",
      aPoolPod({ use: 1, state: { phase: "stopping", targetPodPhase: "idle" } }),
    ],
    ["was last made running", aPoolPod({ state: { phase: "completed", targetPodPhase: "running" } })],
    ["has a state that cannot be read", aPoolPod({ state: "{" })],
    ["has a use count that is no number", aPoolPod({ annotations: { [annotationKeys.useCount]: "many" } })],
  ])("W1: not when it %s", ([, pod]) => {
    expect(isFresh(pod)).toBe(false);
    expect(whyNotClaimable(pod)).toBe("not-fresh");
  });
});

test("a pod without a count has not been used", () => {
  expect(useCountOf(aPoolPod({ metadata: { annotations: {} } }))).toBe(0);
  expect(useCountOf(aPoolPod({ use: 12 }))).toBe(12);
  expect(useCountOf(aPoolPod({ annotations: { [annotationKeys.useCount]: "-1" } }))).toBeUndefined();
});
