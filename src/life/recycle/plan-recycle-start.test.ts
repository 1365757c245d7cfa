import { describe, expect, test } from "vitest";
import { isResting, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys, podConditions } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { aPoolPod, nodeCatchesUp, patched, pinned, type PoolPodShape } from "../../../test/world/pool-pods.ts";
import { isToBeDeleted } from "#sandbox/images/inplace-completion.ts";
import { phaseSince } from "#sandbox/phase.ts";
import { planRecycle } from "./plan-recycle.ts";
import { planEnd } from "#life/end/plan-end.ts";
import { mayRest, planRecycleStart } from "./plan-recycle-start.ts";

const endedAt = Date.parse("2026-01-01T12:00:00.000Z");
const later = endedAt + 90_000;
const images = { main: pinned("app", 1) };

function aSandbox(shape: PoolPodShape = {}): Pod {
  return aPoolPod({ phase: "running", id: "i1", images: { main: "app" }, ...shape });
}

function resting(pod = aSandbox()): Pod {
  const plan = planEnd(pod, { sandboxId: "i1", fate: { kind: "recycle", images }, rests: true }, endedAt);
  if (plan.kind !== "patch") throw new Error(plan.kind);
  return patched(pod, plan.patch);
}

function recycled(pod = resting()): Pod {
  const patch = planRecycleStart(pod, images, later);
  if (patch === undefined) throw new Error("not planned");
  return patched(pod, patch);
}

describe("a pod that rests", () => {
  test("has ended its sandbox and exchanges nothing yet", () => {
    const pod = resting();
    expect([sandboxPhaseOf(pod), sandboxIdOf(pod), isResting(pod)]).toEqual(["stopping", "i1", true]);
    expect(pod.spec).toEqual(aSandbox().spec);
    expect(pod.metadata.annotations).toMatchObject({ [annotationKeys.stopReason]: "Completed" });
  });

  test("is neither replaced nor idle, whatever its node reports", () => {
    const pod = nodeCatchesUp(resting());
    expect(isToBeDeleted(pod)).toBe(false);
    expect(planRecycle(pod, { recorded: "i1" }, later)).toMatchObject({ kind: "waiting" });
  });

  test("is replaced by who does not know of resting", () => {
    const { [annotationKeys.restsSince]: _, ...annotations } = resting().metadata.annotations ?? {};
    expect(isToBeDeleted({ ...resting(), metadata: { ...resting().metadata, annotations } })).toBe(true);
  });
});

describe("the start of recycling", () => {
  test("exchanges the containers, and the time for that begins with it", () => {
    const pod = recycled();
    expect([sandboxPhaseOf(pod), isResting(pod), pod.spec.containers[0]?.image]).toEqual(["stopping", false, images.main]);
    expect(phaseSince(pod, "stopping")).toEqual({ kind: "in-phase", sinceMs: later });
  });

  test("leads to an idle pod without a trace of the sandbox, like an end without a rest", () => {
    const done = nodeCatchesUp(recycled());
    const plan = planRecycle(done, { recorded: "i1" }, later + 1000);
    if (plan.kind !== "patch") throw new Error(plan.kind);
    const idle = patched(done, plan.patch);
    expect([sandboxPhaseOf(idle), sandboxIdOf(idle)]).toEqual(["idle", undefined]);
    expect(Object.keys(idle.metadata.annotations ?? {})).not.toContain(annotationKeys.restsSince);
  });

  test("is of pods that rest alone", () => {
    expect(planRecycleStart(aSandbox(), images, later)).toBeUndefined();
    expect(planRecycleStart(recycled(), images, later)).toBeUndefined();
    const going = resting();
    expect(
      planRecycleStart({ ...going, metadata: { ...going.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } }, images, later),
    ).toBeUndefined();
  });
});

describe("nothing of a sandbox may go on while its pod rests, so no pod rests", () => {
  const frozen = { type: podConditions.paused, status: "True" } as const;
  test.for<[string, PoolPodShape]>([
    ["that has a second container", { images: { main: "app", side: "side" } }],
    ["whose processes share a namespace", { spec: { containers: [{ name: "main" }], shareProcessNamespace: true } }],
    ["that is in its node's namespace", { spec: { containers: [{ name: "main" }], hostPID: true } }],
    ["that is wished paused", { annotations: { [annotationKeys.paused]: "2026-01-01T11:00:00Z" } }],
    ["that is frozen", { status: { conditions: [frozen] } }],
    ["that is going", { metadata: { deletionTimestamp: "2026-01-01T12:00:00Z" } }],
    ["that has no address", { status: { podIP: "" } }],
    ["that has failed", { status: { phase: "Failed" } }],
  ])("%s", ([, shape]) => {
    expect(mayRest(aSandbox(shape))).toBe(false);
    expect(mayRest(aSandbox())).toBe(true);
  });
});
