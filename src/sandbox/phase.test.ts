import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotationKeys, inplaceUpdatePhases, type SandboxPhase, sandboxPhases } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { aPoolPod } from "../../test/world/pool-pods.ts";
import { mayFollow, phaseDuration, phaseSince } from "./phase.ts";

const created = Date.parse("2026-01-01T00:00:00Z");
const entered = "2026-01-01T10:00:00.500Z";
const enteredMs = Date.parse(entered);

describe("the phases of a pod", () => {
  test("follow each other in the order of a life", () => {
    const moves = sandboxPhases.flatMap((from) => sandboxPhases.filter((to) => mayFollow(from, to)).map((to) => `${from} → ${to}`));
    expect(moves).toEqual([
      "idle → starting",
      "idle → running",
      "idle → failed",
      "starting → running",
      "starting → stopping",
      "starting → failed",
      "running → stopping",
      "running → failed",
      "stopping → idle",
      "stopping → failed",
    ]);
  });

  test("lead back to idle only through stopping", () => {
    expect(sandboxPhases.filter((from) => mayFollow(from, "idle"))).toEqual(["stopping"]);
  });

  test("end with failed: such a pod is never used again", () => {
    expect(sandboxPhases.filter((to) => mayFollow("failed", to))).toEqual([]);
  });
});

describe("since when a pod is in its phase", () => {
  test.for([
    ["starting", { phase: "starting" }],
    ["stopping", { phase: "stopping" }],
    ["running", { phase: "completed", targetPodPhase: "running" }],
    ["running", { phase: "completed" }],
    ["idle", { phase: "completed", targetPodPhase: "idle" }],
  ] as const)("%s: the exchange %j says it", ([phase, state]) => {
    const pod = aPoolPod({ phase, state: { ...state, updateTimestamp: entered } });
    expect(phaseSince(pod, phase)).toEqual({ kind: "in-phase", sinceMs: enteredMs });
    expect(phaseSince(pod)).toEqual({ kind: "in-phase", sinceMs: enteredMs });
  });

  test.for([
    ["idle", undefined],
    ["idle", { phase: "stopping", updateTimestamp: entered }],
    ["idle", { phase: "completed", targetPodPhase: "running", updateTimestamp: entered }],
    ["running", { phase: "starting", updateTimestamp: entered }],
    ["starting", { phase: "completed", updateTimestamp: entered }],
    ["failed", { phase: "completed", updateTimestamp: entered }],
    ["running", { phase: "completed", targetPodPhase: "running" }],
    ["running", { phase: "completed", targetPodPhase: "running", updateTimestamp: "yesterday" }],
  ] as const)("%s: an exchange %j that did not lead there leaves the pod's creation", ([phase, state]) => {
    expect(phaseSince(aPoolPod({ phase, state }))).toEqual({ kind: "in-phase", sinceMs: created });
  });

  test("W19: an idle pod is idle since its last recycling, not since it was made", () => {
    const recycled = aPoolPod({ use: 3, state: { phase: "completed", targetPodPhase: "idle", updateTimestamp: entered } });
    const fresh = aPoolPod();
    expect([recycled, fresh].map((pod) => phaseSince(pod, "idle"))).toEqual([
      { kind: "in-phase", sinceMs: enteredMs },
      { kind: "in-phase", sinceMs: created },
    ]);
  });

  test("is not known of another phase than its own, or of no pod of ours", () => {
    expect(phaseSince(aPoolPod({ phase: "running" }), "idle")).toEqual({ kind: "other-phase" });
    const foreign: Pod = { metadata: { creationTimestamp: entered }, spec: { containers: [] } };
    expect(phaseSince(foreign)).toEqual({ kind: "other-phase" });
  });

  test("is an error that says what is wrong when the annotation is no state", () => {
    expect(phaseSince(aPoolPod({ phase: "running", state: "{" }))).toMatchObject({
      kind: "unreadable",
      why: expect.stringContaining(`the annotation ${annotationKeys.inplaceUpdateState} cannot be read: it is not JSON`) as string,
    });
  });

  test("is an error for a pod that was never made", () => {
    const { creationTimestamp: _, ...metadata } = aPoolPod().metadata;
    expect(phaseSince({ ...aPoolPod(), metadata })).toEqual({ kind: "unreadable", why: "the pod has no creation time" });
  });
});

describe("how long a pod is in its phase", () => {
  const pod = aPoolPod({ phase: "running", state: { phase: "completed", targetPodPhase: "running", updateTimestamp: entered } });

  test("is the time since then", () => {
    expect(phaseDuration(pod, "running", enteredMs + 1234)).toEqual({ kind: "in-phase", ms: 1234 });
    expect(phaseDuration(pod, undefined, enteredMs)).toEqual({ kind: "in-phase", ms: 0 });
  });

  test("is not negative when another machine's clock is ahead", () => {
    expect(phaseDuration(pod, "running", enteredMs - 5000)).toEqual({ kind: "in-phase", ms: 0 });
  });

  test("is not known of another phase", () => {
    expect(phaseDuration(pod, "starting", enteredMs)).toEqual({ kind: "other-phase" });
  });

  test("agrees with the moment it began, in every phase and state", () => {
    const anyState = fc.record(
      {
        phase: fc.constantFrom(...inplaceUpdatePhases),
        targetPodPhase: fc.constantFrom(...sandboxPhases),
        updateTimestamp: fc.constantFrom(entered, "nonsense"),
      },
      { requiredKeys: ["phase"] },
    );
    fc.assert(
      fc.property(fc.constantFrom(...sandboxPhases), fc.option(anyState, { nil: undefined }), (phase: SandboxPhase, state) => {
        const some = aPoolPod({ phase, state });
        const since = phaseSince(some, phase);
        const now = enteredMs + 1000;
        expect(since.kind).toBe("in-phase");
        expect(phaseDuration(some, phase, now)).toEqual({ kind: "in-phase", ms: now - (since.kind === "in-phase" ? since.sinceMs : 0) });
      }),
    );
  });
});
