import { describe, expect, test } from "vitest";
import { annotationKeys, type SandboxPhase, sandboxStopReasons } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { isTerminalStatus } from "#model/sandbox-record.ts";
import { aContainerStatus, aPoolPod, digestOf, nodeCatchesUp, patched, pinned, type PoolPodShape } from "../../../test/world/pool-pods.ts";
import { planEnd, type SandboxEnd } from "#life/end/plan-end.ts";
import { captureStopRecord } from "./plan-record.ts";

const now = Date.parse("2026-01-01T12:00:05.000Z");
const claimedAt = { [annotationKeys.claimedAt]: "2026-01-01T10:00:00.000Z" };
const startedAt = { [annotationKeys.startedAt]: "2026-01-01T10:00:01.000Z" };

function aSandbox(shape: PoolPodShape = {}): Pod {
  return aPoolPod({
    phase: "running",
    id: "i1",
    images: { main: "app" },
    ...shape,
    annotations: { ...claimedAt, ...startedAt, ...shape.annotations },
  });
}

function ended(pod: Pod, more: Partial<SandboxEnd> = {}): Pod {
  const fate = { kind: "recycle", images: { main: pinned("idle", 1) } } as const;
  const plan = planEnd(pod, { sandboxId: "i1", fate, ...more }, now - 5000);
  if (plan.kind !== "patch") throw new Error(plan.kind);
  return patched(pod, plan.patch);
}

describe("the record of an ended sandbox", () => {
  test("says how, when and why it ended, with which exit code, and what ran", () => {
    const end = { stopReason: "Failed", failureReason: "OOMKilled", failureMessage: "too big", exitCode: 137 } as const;
    const pod = nodeCatchesUp(ended(aSandbox(), end));
    expect(captureStopRecord(pod, now)).toEqual({
      sandboxId: "i1",
      namespace: "ns",
      poolName: "py",
      podName: "py-1",
      team: "",
      user: "",
      status: "Failed",
      stopReason: "Failed",
      claimedAt: "2026-01-01T10:00:00.000Z",
      startedAt: "2026-01-01T10:00:01.000Z",
      terminatedAt: "2026-01-01T12:00:00.000Z",
      failureReason: "OOMKilled",
      failureMessage: "too big",
      exitCode: 137,
      containerId: "containerd://main-0",
      // What the user ran, although the pod waits on another image by now.
      containerImages: { main: `registry.invalid/app:1@${digestOf("app")}` },
      metadata: {},
    });
    expect(pod.spec.containers[0]?.image).toBe(pinned("idle", 1));
  });

  test.for(sandboxStopReasons)("has the stop reason %s as its status", (stopReason) => {
    const record = captureStopRecord(ended(aSandbox(), { stopReason }), now);
    expect(record).toMatchObject({ status: stopReason, stopReason });
    expect(record !== undefined && isTerminalStatus(record.status)).toBe(true);
  });

  test("is the same whenever and by whomever it is taken", () => {
    const pod = ended(aSandbox());
    expect(captureStopRecord(pod, now + 60_000)).toEqual(captureStopRecord(pod, now));
    expect(captureStopRecord(nodeCatchesUp(pod), now)).toEqual(captureStopRecord(pod, now));
  });

  test("is the planned one when the pod is deleted on its way back", () => {
    const pod = ended(aSandbox());
    const going = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: "2026-01-01T12:00:04Z" } };
    expect(captureStopRecord(going, now)).toEqual(captureStopRecord(pod, now));
  });

  test("is none for a pod without a sandbox", () => {
    expect(captureStopRecord(aPoolPod(), now)).toBeUndefined();
    expect(captureStopRecord(aPoolPod({ metadata: { deletionTimestamp: "2026-01-01T12:00:00Z" } }), now)).toBeUndefined();
  });
});

describe("the record of a sandbox whose pod does not say how it ended", () => {
  const stopping = { phase: "stopping", state: { phase: "stopping", updateTimestamp: "2026-01-01T11:59:00.000Z" } } as const;

  test("is Completed if it ran, and Canceled if it never did", () => {
    expect(captureStopRecord(aSandbox(stopping), now)).toMatchObject({ status: "Completed", stopReason: "Completed" });
    const neverRan = aPoolPod({ ...stopping, id: "i1", annotations: claimedAt });
    expect(captureStopRecord(neverRan, now)).toMatchObject({ status: "Canceled" });
  });

  test("is so also when the pod is deleted before it is recycled: the sandbox had ended before", () => {
    const going = aSandbox({ ...stopping, metadata: { deletionTimestamp: "2026-01-01T12:00:04Z" } });
    expect(captureStopRecord(going, now)).toMatchObject({ status: "Completed" });
    expect(captureStopRecord(going, now)).not.toHaveProperty("failureReason");
  });

  test("is so for a word that is no reason", () => {
    expect(captureStopRecord(aSandbox({ ...stopping, annotations: { [annotationKeys.stopReason]: "Bored" } }), now)).toMatchObject({
      status: "Completed",
    });
  });

  test("takes the images from the pod, and the time from the exchange", () => {
    expect(captureStopRecord(aSandbox(stopping), now)).toMatchObject({
      containerImages: { main: `registry.invalid/app:1@${digestOf("app")}` },
      terminatedAt: "2026-01-01T11:59:00.000Z",
    });
    expect(captureStopRecord(aSandbox({ phase: "stopping" }), now)).toMatchObject({ terminatedAt: "2026-01-01T12:00:05.000Z" });
  });

  test("does not take a text for an exit code", () => {
    const told = (exitCode: string): unknown =>
      captureStopRecord(aSandbox({ ...stopping, annotations: { [annotationKeys.exitCode]: exitCode } }), now)?.exitCode;
    expect(["0", "137", "-1", "x", "", "1.5"].map(told)).toEqual([0, 137, -1, undefined, undefined, undefined]);
  });
});

describe("W9: the record of a sandbox whose pod died", () => {
  test.for<[SandboxPhase]>([["starting"], ["running"], ["failed"]])("is Failed when it was %s, and is not lost", ([phase]) => {
    const pod = aPoolPod({
      phase,
      id: "i1",
      annotations: claimedAt,
      metadata: { deletionTimestamp: "2026-01-01T12:00:30Z", deletionGracePeriodSeconds: 30 },
    });
    expect(captureStopRecord(pod, now)).toMatchObject({
      status: "Failed",
      stopReason: "Failed",
      failureReason: "PodDeleted",
      // When it was asked for, not when its grace ends.
      terminatedAt: "2026-01-01T12:00:00.000Z",
    });
  });

  test("names the eviction, or the node", () => {
    expect(captureStopRecord(aSandbox({ status: { phase: "Failed", reason: "Evicted", message: "low on memory" } }), now)).toMatchObject({
      failureReason: "Evicted",
      failureMessage: "low on memory",
    });
    const conditions = [{ type: "DisruptionTarget", status: "True", reason: "DeletionByTaintManager" } as const];
    const lost = aSandbox({ metadata: { deletionTimestamp: "2026-01-01T12:00:00Z" }, status: { conditions } });
    expect(captureStopRecord(lost, now)).toMatchObject({ failureReason: "NodeLost" });
  });

  test("has the container's exit, its id, and the time at which it ended", () => {
    const terminated = { exitCode: 137, reason: "OOMKilled", finishedAt: "2026-01-01T11:58:00Z" };
    const status = { phase: "Failed", containerStatuses: [aContainerStatus("main", pinned("app"), { state: { terminated } })] } as const;
    expect(captureStopRecord(aSandbox({ status }), now)).toMatchObject({
      failureReason: "OOMKilled",
      exitCode: 137,
      containerId: "containerd://main-0",
      terminatedAt: "2026-01-01T11:58:00.000Z",
    });
  });
});
