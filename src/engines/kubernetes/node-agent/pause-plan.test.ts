import { describe, expect, test } from "vitest";
import { annotationKeys, podConditions } from "#model/keys.ts";
import type { Pod, PodCondition } from "#model/pod.ts";
import { aContainerStatus, aPoolPod, pinned, type PoolPodShape } from "../../../../test/world/pool-pods.ts";
import { conditionsToWrite, wishToGrant } from "./pause-plan.ts";

const wish = "2026-01-01T00:00:00.000Z";
const now = Date.parse("2026-01-01T00:00:05Z");

function aPod(shape: PoolPodShape = {}): Pod {
  return aPoolPod({ phase: "running", id: "i-1", annotations: { [annotationKeys.paused]: wish }, ...shape });
}

function told(more: Partial<PodCondition>): Pick<PoolPodShape, "status"> {
  return { status: { ...aPod().status, conditions: [{ type: podConditions.paused, status: "True", reason: "Frozen", ...more }] } };
}

describe("a wish is granted", () => {
  test("to a sandbox that runs", () => expect(wishToGrant(aPod(), undefined)).toBe(wish));

  test.each([
    ["that does not wish it", { annotations: {} }],
    ["that is being deleted", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }],
    ["that was released", { phase: "stopping" as const }],
    ["whose container does not run", { status: { containerStatuses: [] } }],
    ["whose container is being exchanged", { status: { containerStatuses: [aContainerStatus("main", pinned("other"))] } }],
    ["whose wish has failed already", told({ status: "False", reason: "FreezeFailed", message: `${wish}: no` })],
  ])("but not to one %s", (_, shape) => expect(wishToGrant(aPod(shape), undefined)).toBeUndefined());

  test("and not twice, if it failed and nobody has heard of it yet; the next one is", () => {
    expect(wishToGrant(aPod(), { wish, message: "no" })).toBeUndefined();
    expect(wishToGrant(aPod(), { wish: "2025-01-01T00:00:00.000Z", message: "no" })).toBe(wish);
    expect(wishToGrant(aPod(told({ status: "False", reason: "FreezeFailed", message: "earlier: no" })), undefined)).toBe(wish);
  });
});

describe("what is told", () => {
  const ofPaused = (conditions: readonly PodCondition[] | undefined) => conditions?.filter(({ type }) => type === podConditions.paused);
  const write = (pod: Pod, isFrozen: boolean, failed?: { wish: string; message: string }) =>
    conditionsToWrite(pod, { isFrozen, failed }, now);

  test("a frozen pod is, with the conditions of others as they were", () => {
    const conditions = write(aPod(), true);
    expect(conditions).toEqual([
      { type: "Ready", status: "True" },
      { type: podConditions.paused, status: "True", reason: "Frozen", lastTransitionTime: "2026-01-01T00:00:05Z" },
    ]);
    expect(write(aPod(told({})), true)).toBeUndefined();
  });

  test("one that goes on says nothing of it", () => {
    expect(write(aPod(told({})), false)).toEqual([]);
    expect(write(aPod(), false)).toBeUndefined();
  });

  test("one that cannot be frozen says which wish that answers, and why", () => {
    expect(ofPaused(write(aPod(), false, { wish, message: "no group" }))).toMatchObject([
      { status: "False", reason: "FreezeFailed", message: `${wish}: no group` },
    ]);
    const answered = aPod(told({ status: "False", reason: "FreezeFailed", message: `${wish}: no group` }));
    expect(write(answered, false, { wish, message: "no group" })).toBeUndefined();
    // By another agent, before this one came.
    expect(write(answered, false)).toBeUndefined();
    expect(
      write(aPod({ ...told({ status: "False", reason: "FreezeFailed", message: `${wish}: no group` }), annotations: {} }), false),
    ).toEqual([]);
  });
});
