import { describe, expect, test } from "vitest";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys, labelKeys, sandboxPhases } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { aPoolPod, nodeCatchesUp, patched, pinned, type PoolPodShape } from "../../../test/world/pool-pods.ts";
import { whyNotClaimable } from "#sandbox/claimable.ts";
import { readInplaceUpdateState } from "#sandbox/images/inplace-state.ts";
import { planRecycle } from "./plan-recycle.ts";
import { planEnd } from "#life/end/plan-end.ts";

const now = Date.parse("2026-01-01T12:00:01.500Z");

function stopping(shape: PoolPodShape = {}): Pod {
  const pod = aPoolPod({
    phase: "running",
    id: "i1",
    use: 2,
    images: { main: "app" },
    ...shape,
    labels: { [labelKeys.team]: "red", [labelKeys.user]: "ann", job: "j", app: "base", ...shape.labels },
    annotations: {
      [annotationKeys.sandboxId]: "i1",
      [annotationKeys.managedLabelKeys]: '["job"]',
      [annotationKeys.managedAnnotationKeys]: '["note"]',
      note: "mine",
      "cni.example.com/ip": "10.0.0.7",
      ...shape.annotations,
    },
  });
  const plan = planEnd(pod, { sandboxId: "i1", fate: { kind: "recycle", images: { main: pinned("idle", 3) } } }, now - 1000);
  if (plan.kind !== "patch") throw new Error(plan.kind);
  return patched(pod, plan.patch);
}

function recycled(pod: Pod, recorded = "i1"): Pod {
  const plan = planRecycle(pod, { recorded }, now);
  if (plan.kind !== "patch") throw new Error(plan.kind === "nothing" ? plan.kind : plan.why);
  return patched(pod, plan.patch);
}

describe("the end of a recycling", () => {
  test("is an idle pod that may be claimed, one use older", () => {
    const pod = recycled(nodeCatchesUp(stopping()));
    expect(sandboxPhaseOf(pod)).toBe("idle");
    expect(pod.metadata.annotations?.[annotationKeys.useCount]).toBe("3");
    expect(whyNotClaimable(pod)).toBeUndefined();
    expect(readInplaceUpdateState(pod)).toEqual({
      kind: "state",
      state: { phase: "completed", targetPodPhase: "idle", updateTimestamp: "2026-01-01T12:00:01.500Z" },
    });
  });

  test("I2: has nothing of its user, and all that was the pod's", () => {
    const { labels, annotations } = recycled(nodeCatchesUp(stopping())).metadata;
    expect(labels).toEqual({ [labelKeys.sandboxPool]: "py", [labelKeys.sandboxPhase]: "idle", app: "base" });
    expect(Object.keys(annotations ?? {}).sort()).toEqual(
      [annotationKeys.inplaceUpdateState, annotationKeys.useCount, "cni.example.com/ip"].sort(),
    );
  });

  test("keeps what its pool and template gave the pod", () => {
    const kept = {
      [annotationKeys.templateName]: "base",
      [annotationKeys.templateVersion]: "v1.0.0",
      [annotationKeys.templateHash]: "abc",
      [annotationKeys.runtimeChecks]: "[]",
      [annotationKeys.recyclePolicy]: "Always",
      [annotationKeys.maxUses]: "9",
    };
    const labels = { [labelKeys.env]: "e", [labelKeys.scalingGroup]: "g", [labelKeys.managedBy]: "m" };
    const pod = recycled(nodeCatchesUp(stopping({ annotations: kept, labels })));
    expect(pod.metadata.annotations).toMatchObject(kept);
    expect(pod.metadata.labels).toMatchObject(labels);
  });

  test("I2: takes away keys of AgentBox that it does not know: a later version may have put them there", () => {
    const pod = nodeCatchesUp(stopping({ annotations: { "agentbox.navix.sh/new": "secret" }, labels: { "scheduling.navix.sh/new": "x" } }));
    expect(JSON.stringify(recycled(pod).metadata)).not.toMatch(/secret|scheduling\.navix\.sh\/new/);
  });

  test("removes no key of AgentBox for a list that names one", () => {
    const pod = stopping({ annotations: { [annotationKeys.managedLabelKeys]: `["${labelKeys.sandboxPool}","job"]` } });
    expect(recycled(nodeCatchesUp(pod)).metadata.labels).toMatchObject({ [labelKeys.sandboxPool]: "py" });
  });
});

describe("a pod does not become idle", () => {
  test("W1: before the node has given it a new container", () => {
    expect(planRecycle(stopping(), { recorded: "i1" }, now)).toEqual({ kind: "waiting", why: "container main is still the one before" });
  });

  test("W9: before its sandbox's record is written", () => {
    const done = nodeCatchesUp(stopping());
    for (const recorded of [undefined, "i2"]) {
      expect(planRecycle(done, { recorded }, now)).toEqual({ kind: "waiting", why: "the sandbox's record is not written" });
    }
    expect(sandboxIdOf(done)).toBe("i1");
  });

  test("twice: the second write is refused, and there is nothing to do", () => {
    const done = nodeCatchesUp(stopping());
    const again = planRecycle(done, { recorded: "i1" }, now);
    const idle = recycled(done);
    if (again.kind !== "patch") throw new Error(again.kind);
    expect(() => patched(idle, again.patch)).toThrow("test failed at /metadata/resourceVersion");
    expect(planRecycle(idle, { recorded: "i1" }, now)).toEqual({ kind: "nothing" });
  });

  test("from any other phase, or when it is being deleted", () => {
    const others = sandboxPhases.filter((phase) => phase !== "stopping");
    expect(others.map((phase) => planRecycle(aPoolPod({ phase, id: "i1" }), { recorded: "i1" }, now).kind)).toEqual(
      others.map(() => "nothing"),
    );
    const done = nodeCatchesUp(stopping());
    const going = { ...done, metadata: { ...done.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } };
    expect(planRecycle(going, { recorded: "i1" }, now)).toEqual({ kind: "nothing" });
  });

  test("but is replaced when nobody knows what is left on it", () => {
    const done = nodeCatchesUp(stopping({ annotations: { [annotationKeys.managedLabelKeys]: "job" } }));
    expect(planRecycle(done, { recorded: "i1" }, now)).toMatchObject({ kind: "delete" });
    expect(planRecycle(aPoolPod({ phase: "stopping", id: "i1" }), { recorded: "i1" }, now)).toMatchObject({ kind: "delete" });
  });

  test("for a pod that is to be replaced anyway", () => {
    const state = { phase: "stopping", targetPodPhase: "idle", targetImages: {} };
    expect(planRecycle(aPoolPod({ phase: "stopping", id: "i1", state }), { recorded: "i1" }, now)).toMatchObject({ kind: "waiting" });
  });
});
