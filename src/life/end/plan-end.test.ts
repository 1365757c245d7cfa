import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isClaimed, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys, labelKeys, sandboxPhases, sandboxStopReasons } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { aContainerStatus, aPoolPod, patched, pinned, type PoolPodShape } from "../../../test/world/pool-pods.ts";
import { isToBeDeleted } from "#sandbox/images/inplace-completion.ts";
import { readInplaceUpdateState } from "#sandbox/images/inplace-state.ts";
import type { Fate } from "#life/recycle/plan-fate.ts";
import { planEnd, type SandboxEnd } from "./plan-end.ts";

const now = Date.parse("2026-01-01T12:00:00.125Z");
const recycle: Fate = { kind: "recycle", images: { main: pinned("idle", 1) } };
const replace: Fate = { kind: "delete", reasons: ["worn out"] };

const claim = {
  [annotationKeys.sandboxId]: "i1",
  [annotationKeys.claimedAt]: "2026-01-01T10:00:00.000Z",
  [annotationKeys.sandboxMetadata]: '{"a":"b"}',
  [annotationKeys.managedLabelKeys]: '["job"]',
};

const operational = {
  [annotationKeys.idleTimeout]: "600",
  [annotationKeys.startupTimeout]: "60",
  [annotationKeys.endTime]: "2026-01-02T00:00:00.000Z",
  [annotationKeys.onTimeout]: "pause",
  [annotationKeys.lastActive]: "2026-01-01T11:00:00.000Z",
  [annotationKeys.paused]: "2026-01-01T11:30:00.000Z",
  [annotationKeys.postStartHooks]: "[]",
  [annotationKeys.chosenToGo]: "2026-01-01T09:00:00.000Z",
  [annotationKeys.sandboxStatusDetail]: "{}",
};

function aSandbox(shape: PoolPodShape = {}): Pod {
  return aPoolPod({
    phase: "running",
    id: "i1",
    images: { main: "app" },
    labels: { job: "j" },
    annotations: { ...claim, ...operational },
    ...shape,
  });
}

function anEnd(more: Partial<SandboxEnd> = {}): SandboxEnd {
  return { sandboxId: "i1", fate: recycle, ...more };
}

function ended(pod: Pod, end: SandboxEnd = anEnd()): Pod {
  const plan = planEnd(pod, end, now);
  if (plan.kind !== "patch") throw new Error(plan.kind);
  return patched(pod, plan.patch);
}

function annotation(pod: Pod, key: keyof typeof annotationKeys): string | undefined {
  return pod.metadata.annotations?.[annotationKeys[key]];
}

describe("an end", () => {
  test("ends the sandbox and sends the pod to its waiting image, in one write", () => {
    const pod = ended(aSandbox());
    expect([sandboxPhaseOf(pod), isClaimed(pod)]).toEqual(["stopping", false]);
    expect(pod.spec.containers[0]?.image).toBe(pinned("idle", 1));
    expect(readInplaceUpdateState(pod)).toMatchObject({
      state: {
        phase: "stopping",
        targetPodPhase: "idle",
        targetImages: { main: pinned("idle", 1) },
        updateTimestamp: "2026-01-01T12:00:00.125Z",
        lastContainerStatuses: { main: { containerID: "containerd://main-0" } },
      },
    });
  });

  test("keeps the id, and all that history needs", () => {
    const pod = ended(aSandbox());
    expect(sandboxIdOf(pod)).toBe("i1");
    expect(pod.metadata.annotations).toMatchObject(claim);
    expect(pod.metadata.labels).toMatchObject({ job: "j", [labelKeys.sandboxPool]: "py" });
  });

  test("takes away what could still act for the sandbox", () => {
    const left = Object.keys(ended(aSandbox()).metadata.annotations ?? {});
    expect(Object.keys(operational).filter((key) => left.includes(key))).toEqual([]);
  });

  test("notes what ran, before it goes", () => {
    const pod = ended(aSandbox({ images: { main: "app", side: "side" } }), anEnd());
    expect(JSON.parse(annotation(pod, "runningImages") ?? "")).toEqual({ main: pinned("app"), side: pinned("side") });
    expect(annotation(pod, "containerId")).toBe("containerd://main-0");
    expect(annotation(ended({ ...aSandbox(), status: {} }), "containerId")).toBeUndefined();
    const nameless = aSandbox({ status: { containerStatuses: [aContainerStatus("main", pinned("app"), { containerID: "" })] } });
    expect(annotation(ended(nameless), "containerId")).toBeUndefined();
  });

  test.for([
    ["running", "Completed"],
    ["starting", "Canceled"],
  ] as const)("of a sandbox that is %s is %s unless somebody says otherwise", ([phase, reason]) => {
    expect(annotation(ended(aSandbox({ phase })), "stopReason")).toBe(reason);
    expect(sandboxStopReasons.map((stopReason) => annotation(ended(aSandbox({ phase }), anEnd({ stopReason })), "stopReason"))).toEqual([
      ...sandboxStopReasons,
    ]);
  });

  test("says when, why, and with which exit code", () => {
    const pod = ended(
      aSandbox(),
      anEnd({ stopReason: "Failed", failureReason: "OOMKilled", failureMessage: "too big", exitCode: 137, terminatedAtMs: now - 1000 }),
    );
    expect(["terminatedAt", "failureReason", "failureMessage", "exitCode"].map((key) => annotation(pod, key as "exitCode"))).toEqual([
      "2026-01-01T11:59:59.125Z",
      "OOMKilled",
      "too big",
      "137",
    ]);
    expect(annotation(ended(aSandbox()), "terminatedAt")).toBe("2026-01-01T12:00:00.125Z");
    expect(annotation(ended(aSandbox()), "failureReason")).toBeUndefined();
  });

  test("does not let a container's last words fill the pod", () => {
    expect(annotation(ended(aSandbox(), anEnd({ failureMessage: "x".repeat(100_000) })), "failureMessage")).toHaveLength(2048);
  });

  test("of a pod that is replaced exchanges nothing and says so", () => {
    const pod = ended(aSandbox(), anEnd({ fate: replace }));
    expect(sandboxPhaseOf(pod)).toBe("stopping");
    expect(pod.spec).toEqual(aSandbox().spec);
    expect(isToBeDeleted(pod)).toBe(true);
    expect(isToBeDeleted(ended(aSandbox()))).toBe(false);
    expect(annotation(pod, "stopReason")).toBe("Completed");
    expect(Object.keys(operational).filter((key) => Object.hasOwn(pod.metadata.annotations ?? {}, key))).toEqual([]);
  });

  test("works on a pod that is being deleted, so that the record says what its user did", () => {
    const going = aSandbox({ metadata: { deletionTimestamp: "2026-01-01T12:00:00Z" } });
    const pod = ended(going, anEnd({ fate: replace }));
    expect(annotation(pod, "stopReason")).toBe("Completed");
  });
});

describe("W1: a repeated end", () => {
  test("writes nothing, and whoever asked has what he wants", () => {
    const pod = ended(aSandbox());
    expect(planEnd(pod, anEnd(), now)).toEqual({ kind: "already-ended" });
    expect(planEnd(pod, anEnd({ stopReason: "Failed", fate: replace }), now)).toEqual({ kind: "already-ended" });
  });

  test("that was decided on the pod before it stopped is refused by the server", () => {
    const sandbox = aSandbox();
    const second = planEnd(sandbox, anEnd(), now);
    if (second.kind !== "patch") throw new Error(second.kind);
    expect(() => patched(ended(sandbox), second.patch)).toThrow("test failed at /metadata/resourceVersion");
  });

  test("of a sandbox whose pod is recycled, or somebody else's by now, touches nothing", () => {
    for (const pod of [aPoolPod(), aSandbox({ id: "i2" }), aPoolPod({ phase: "stopping", id: "i2" })]) {
      expect(planEnd(pod, anEnd(), now)).toEqual({
        kind: "refused",
        code: "other-sandbox",
        message: "the pod does not carry sandbox i1",
      });
    }
  });
});

describe("an end is refused", () => {
  test("by a pod that is in no phase to be ended", () => {
    expect(planEnd(aSandbox({ phase: "failed" }), anEnd(), now)).toMatchObject({ code: "unexpected-pod-phase" });
    expect(planEnd(aSandbox({ phase: "idle" }), anEnd(), now)).toMatchObject({ code: "unexpected-pod-phase" });
  });

  test("when the sandbox is no longer in the phase for which it was decided", () => {
    expect(planEnd(aSandbox(), anEnd({ expectedPhase: "starting" }), now)).toEqual({
      kind: "refused",
      code: "unexpected-pod-phase",
      message: "the pod is running, not starting",
    });
    expect(planEnd(aSandbox(), anEnd({ expectedPhase: "running" }), now).kind).toBe("patch");
  });

  test("when the images are of containers that the pod has not", () => {
    const fate: Fate = { kind: "recycle", images: { nope: pinned("idle") } };
    expect(planEnd(aSandbox(), anEnd({ fate }), now)).toMatchObject({ code: "container-not-found" });
  });

  test("or happens exactly for a live sandbox of that id", () => {
    const phases = fc.constantFrom(...sandboxPhases);
    fc.assert(
      fc.property(phases, fc.constantFrom("i1", "i2", undefined), fc.constantFrom(recycle, replace), (phase, id, fate) => {
        const pod = aPoolPod({ phase, images: { main: "app" }, ...(id === undefined ? {} : { id }) });
        const plan = planEnd(pod, anEnd({ fate }), now);
        const phaseAfter = plan.kind === "patch" ? sandboxPhaseOf(patched(pod, plan.patch)) : undefined;
        expect(phaseAfter).toBe(isClaimed(pod) && id === "i1" ? "stopping" : undefined);
      }),
    );
  });
});
