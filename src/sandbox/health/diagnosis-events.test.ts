import { describe, expect, test } from "vitest";
import type { ObjectEvent } from "#model/core-kinds.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { aContainerStatus, aPoolPod, pinned, type PoolPodShape } from "../../../test/world/pool-pods.ts";
import { statusDetailWithEvents } from "./diagnosis-events.ts";

const claimed = "2026-01-01T10:00:00.400Z";

function anEvent(more: Partial<ObjectEvent> = {}): ObjectEvent {
  return {
    metadata: { name: "e" },
    type: "Warning",
    reason: "Failed",
    message: "Error: ErrImagePull",
    lastTimestamp: "2026-01-01T10:00:10Z",
    count: 3,
    involvedObject: { kind: "Pod", name: "py-1", uid: "uid-1" },
    ...more,
  };
}

function starting(shape: PoolPodShape = {}): Pod {
  return aPoolPod({ phase: "starting", id: "i1", annotations: { [annotationKeys.claimedAt]: claimed }, ...shape });
}

function reason(pod: Pod, ...events: readonly ObjectEvent[]): string | undefined {
  return statusDetailWithEvents(pod, events)?.reason;
}

describe("Warning events", () => {
  test("are attached to what the pod says, newest first", () => {
    const waiting = aContainerStatus("main", pinned("idle"), { state: { waiting: { reason: "ImagePullBackOff" } } });
    const pod = starting({ status: { containerStatuses: [waiting] } });
    const events = [anEvent({ lastTimestamp: "2026-01-01T10:00:05Z", message: "older" }), anEvent()];
    expect(statusDetailWithEvents(pod, events)).toMatchObject({
      reason: "ImagePullBackOff",
      events: [
        { reason: "Failed", message: "Error: ErrImagePull", lastTimestamp: "2026-01-01T10:00:10.000Z", count: 3 },
        { message: "older", lastTimestamp: "2026-01-01T10:00:05.000Z" },
      ],
    });
  });

  test("give the reason when the pod gives none", () => {
    expect(statusDetailWithEvents(starting(), [anEvent()])).toEqual({
      podName: "py-1",
      phase: "starting",
      reason: "ErrImagePull",
      message: "Error: ErrImagePull",
      events: [{ reason: "Failed", message: "Error: ErrImagePull", lastTimestamp: "2026-01-01T10:00:10.000Z", count: 3 }],
    });
  });

  test.for([
    ["FailedScheduling", "0/3 nodes are available", "Unschedulable"],
    ["Failed", "Error: ImagePullBackOff", "ImagePullBackOff"],
    ["Failed", 'Failed to pull image "x": not found', "ErrImagePull"],
    ["Failed", "Error: container has runAsNonRoot", "Failed"],
    ["BackOff", "Back-off pulling image x", "ImagePullBackOff"],
    ["BackOff", "Back-off restarting failed container", "CrashLoopBackOff"],
    ["FailedMount", "no such volume", "FailedMount"],
    ["Evicted", "low on disk", "Evicted"],
  ] as const)("%s: %s means %s", ([event, message, expected]) => {
    expect(reason(starting(), anEvent({ reason: event, message }))).toBe(expected);
  });

  test("are those of this very pod, and warnings", () => {
    const others = [
      anEvent({ type: "Normal", reason: "Pulling" }),
      anEvent({ involvedObject: { kind: "Pod", name: "py-1", uid: "uid-of-an-earlier-one" } }),
      anEvent({ involvedObject: { kind: "Pod", name: "py-1" } }),
    ];
    expect(statusDetailWithEvents(starting(), others)).toBeUndefined();
  });

  test("have their time in one of several places", () => {
    const { lastTimestamp: _, ...bare } = anEvent();
    const at = (more: Partial<ObjectEvent>): string | undefined =>
      statusDetailWithEvents(starting(), [{ ...bare, ...more }])?.events?.[0]?.lastTimestamp;
    expect(at({ lastTimestamp: null, eventTime: "2026-01-01T10:01:00.000000Z" })).toBe("2026-01-01T10:01:00.000Z");
    expect(at({ firstTimestamp: "2026-01-01T10:02:00Z" })).toBe("2026-01-01T10:02:00.000Z");
    expect(at({ metadata: { name: "e", creationTimestamp: "2026-01-01T10:03:00Z" } })).toBe("2026-01-01T10:03:00.000Z");
    expect(at({})).toBeUndefined();
    const all = { lastTimestamp: "2026-01-01T10:01:00Z", firstTimestamp: "2026-01-01T10:00:30Z", eventTime: "2026-01-01T10:00:40.000000Z" };
    expect(at(all)).toBe("2026-01-01T10:01:00.000Z");
  });
});

describe("I8: events of a pod's earlier users", () => {
  test("are not shown to the present one", () => {
    const before = anEvent({ lastTimestamp: "2026-01-01T09:59:59Z", message: "image of somebody else" });
    expect(statusDetailWithEvents(starting(), [before])).toBeUndefined();
    expect(JSON.stringify(statusDetailWithEvents(starting(), [before, anEvent()]))).not.toContain("somebody else");
  });

  test("are not shown when they fall into the second of the claim, which events do not divide", () => {
    expect(statusDetailWithEvents(starting(), [anEvent({ lastTimestamp: "2026-01-01T10:00:00Z" })])).toBeUndefined();
  });

  test("are not shown when nobody knows when the claim was", () => {
    expect(statusDetailWithEvents(starting({ annotations: {} }), [anEvent()])).toBeUndefined();
  });
});

describe("a pod", () => {
  test("that runs well is not ill for a warning that is over", () => {
    const running = starting({ phase: "running" });
    expect(statusDetailWithEvents(running, [anEvent({ reason: "Unhealthy", message: "Readiness probe failed" })])).toBeUndefined();
  });

  test("that is idle shows all its warnings to those who run the pool", () => {
    expect(reason(aPoolPod(), anEvent({ reason: "FailedMount", lastTimestamp: "2020-01-01T00:00:00Z" }))).toBe("FailedMount");
  });

  test("without events has what it says itself, and an empty list of them", () => {
    const pod = aPoolPod({ status: { phase: "Failed", reason: "Evicted", message: "m" } });
    expect(statusDetailWithEvents(pod, [])).toEqual({ podName: "py-1", phase: "idle", reason: "Evicted", message: "m", events: [] });
    expect(statusDetailWithEvents(aPoolPod(), [])).toBeUndefined();
  });
});

test("a sandbox that runs says that it ran out of memory, when and how often, and nothing of other warnings", () => {
  const pod = starting({ phase: "running" });
  const killed = anEvent({ reason: "OutOfMemory", message: "2 processes of the sandbox were killed for want of memory", count: 1 });
  expect(statusDetailWithEvents(pod, [anEvent(), killed])).toEqual({
    podName: "py-1",
    phase: "running",
    reason: "OOMKilled",
    message: killed.message,
    events: [{ reason: "OutOfMemory", message: killed.message, lastTimestamp: "2026-01-01T10:00:10.000Z", count: 1 }],
  });
  expect(statusDetailWithEvents(pod, [anEvent()])).toBeUndefined();
});
