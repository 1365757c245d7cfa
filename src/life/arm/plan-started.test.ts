import { describe, expect, test } from "vitest";
import { checkReady } from "#read-model/sandbox-checkers.ts";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys, sandboxPhases } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { aPoolPod, digestOf, nodeCatchesUp, nodeRestarts, patched, pinned } from "../../../test/world/pool-pods.ts";
import { planClaim } from "#life/claim/plan-claim.ts";
import { planFinishStart } from "./plan-started.ts";
import { readInplaceUpdateState } from "#sandbox/images/inplace-state.ts";
import { unexpectedRestart } from "#sandbox/health/restart.ts";

const claimedAt = Date.parse("2026-01-01T10:00:00Z");
const startedAt = claimedAt + 900;

function starting(): Pod {
  const pod = aPoolPod();
  const plan = planClaim(
    pod,
    { sandboxId: "i1", images: { main: { image: "registry.invalid/app:1", digest: digestOf("app") } } },
    claimedAt,
  );
  if (plan.kind !== "patch") throw new Error(plan.message);
  return patched(pod, plan.patch);
}

function finished(pod: Pod): Pod {
  const plan = planFinishStart(pod, startedAt);
  if (plan.kind !== "patch") throw new Error(plan.kind);
  return patched(pod, plan.patch);
}

describe("the end of a start", () => {
  test("is running, with the time and the containers it started with", () => {
    const sandbox = finished(nodeCatchesUp(starting()));
    expect(sandboxPhaseOf(sandbox)).toBe("running");
    expect(sandbox.metadata.annotations).toMatchObject({
      [annotationKeys.startedAt]: "2026-01-01T10:00:00.900Z",
      [annotationKeys.claimedAt]: "2026-01-01T10:00:00.000Z",
    });
    expect(readInplaceUpdateState(sandbox)).toEqual({
      kind: "state",
      state: {
        phase: "completed",
        targetImages: { main: pinned("app") },
        targetPodPhase: "running",
        updateTimestamp: "2026-01-01T10:00:00.900Z",
        stableContainerStatuses: { main: { containerID: "containerd://main-1", restartCount: 1 } },
      },
    });
    expect(checkReady(sandbox, Date.parse("2026-01-01T10:00:00.900Z"))).toEqual({ kind: "satisfied" });
  });

  test("is written once the exchange is proven, and not before", () => {
    expect(planFinishStart(starting(), startedAt)).toEqual({ kind: "waiting", why: "container main is still the one before" });
  });

  test("W6: of an exchange is not read as a crash later, and a crash is", () => {
    const sandbox = finished(nodeCatchesUp(starting()));
    expect(unexpectedRestart(sandbox)).toBeUndefined();
    expect(unexpectedRestart(nodeRestarts(sandbox, "main", { exitCode: 1 }))).toMatchObject({ container: "main" });
  });

  test("W14: comes once: whoever looks again finds nothing to do", () => {
    const pod = nodeCatchesUp(starting());
    const sandbox = finished(pod);
    expect(planFinishStart(sandbox, startedAt)).toEqual({ kind: "nothing" });
    const again = planFinishStart(pod, startedAt);
    if (again.kind !== "patch") throw new Error(again.kind);
    expect(() => patched(sandbox, again.patch)).toThrow("test failed at /metadata/resourceVersion");
  });

  test("W14: does not come for a pod that is not starting", () => {
    const others = sandboxPhases.filter((phase) => phase !== "starting");
    expect(others.map((phase) => planFinishStart(aPoolPod({ phase, id: "i1" }), startedAt).kind)).toEqual(others.map(() => "nothing"));
  });

  test("does not come for a pod that is being deleted", () => {
    const pod = nodeCatchesUp(starting());
    const going = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: "2026-01-01T10:00:01Z" } };
    expect(planFinishStart(going, startedAt)).toEqual({ kind: "nothing" });
  });

  test("is waited for, up to the startup timeout, on a pod that does not say what it starts", () => {
    expect(planFinishStart(aPoolPod({ phase: "starting", id: "i1" }), startedAt)).toMatchObject({ kind: "waiting" });
    expect(planFinishStart(aPoolPod({ phase: "starting", id: "i1", state: "{" }), startedAt)).toMatchObject({ kind: "waiting" });
  });
});
