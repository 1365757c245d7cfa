import { describe, expect, test } from "vitest";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { Pod, PodStatus } from "#model/pod.ts";
import { lastStatusDetail, planStatusNote, statusNote } from "./status-note.ts";

const now = Date.UTC(2026, 0, 1);
const main = { name: "main", ready: false, restartCount: 0, image: "app", imageID: "" };

function aPod(phase: string, status: PodStatus, noted?: { reason: string; atMs?: number }): Pod {
  const note = noted && { reason: noted.reason, message: "as noted", lastUpdatedTime: new Date(noted.atMs ?? now).toISOString() };
  return {
    metadata: {
      name: "p",
      uid: "u",
      resourceVersion: "1",
      labels: { [labelKeys.sandboxPhase]: phase },
      annotations: note === undefined ? {} : { [annotationKeys.sandboxStatusDetail]: JSON.stringify(note) },
    },
    spec: { containers: [{ name: "main", image: "app" }] },
    status,
  };
}

const waits = (reason: string): PodStatus => ({
  phase: "Pending",
  containerStatuses: [{ ...main, state: { waiting: { reason, message: "no such image" } } }],
});
const runs = (ready: "True" | "False"): PodStatus => ({
  phase: "Running",
  conditions: [{ type: "Ready", status: ready }],
  containerStatuses: [{ ...main, state: { running: {} } }],
});

describe("a note is written", () => {
  test.for(["idle", "starting"])("on a pod that is %s and cannot start, with reason, message and time", (phase) => {
    const plan = planStatusNote(aPod(phase, waits("ImagePullBackOff")), now);
    if (plan.kind !== "write") throw new Error(plan.kind);
    const noted = statusNote({ ...aPod(phase, {}), metadata: { annotations: plan.change.annotations ?? {} } });
    expect(noted).toEqual({
      reason: "ImagePullBackOff",
      message: "container main cannot start: no such image",
      lastUpdatedTime: "2026-01-01T00:00:00.000Z",
    });
  });

  test("again for another cause, but not within half a minute", () => {
    const pod = aPod("starting", waits("CreateContainerError"), { reason: "ImagePullBackOff", atMs: now - 10_000 });
    expect(planStatusNote(pod, now)).toEqual({ kind: "later", afterMs: 20_000 });
    expect(planStatusNote(pod, now + 20_000)).toMatchObject({ kind: "write" });
  });
});

describe("nothing is written", () => {
  test.for([
    ["for another word of the same cause", aPod("starting", waits("ErrImagePull"), { reason: "ImagePullBackOff", atMs: 0 })],
    ["for a start that only takes its time", aPod("starting", waits("ContainerCreating"))],
    ["on a sandbox that runs", aPod("running", waits("CrashLoopBackOff"))],
    ["on a pod that is recycled", aPod("stopping", waits("CrashLoopBackOff"))],
    ["between two crashes", aPod("starting", runs("False"), { reason: "CrashLoopBackOff" })],
  ] as const)("%s", ([, pod]) => {
    expect(planStatusNote(pod, now)).toEqual({ kind: "nothing" });
  });
});

test("a pod that is well loses its note", () => {
  const plan = planStatusNote(aPod("idle", runs("True"), { reason: "CrashLoopBackOff" }), now);
  expect(plan).toEqual({ kind: "write", change: { removeAnnotations: [annotationKeys.sandboxStatusDetail] } });
});

describe("what is told of a start", () => {
  test("is the note, where the pod itself says nothing for a moment", () => {
    expect(lastStatusDetail(aPod("starting", runs("False"), { reason: "CrashLoopBackOff" }))).toMatchObject({
      reason: "CrashLoopBackOff",
      message: "as noted (seen at 2026-01-01T00:00:00.000Z)",
    });
  });

  test("is what the pod says now, where it says something", () => {
    const pod = aPod("starting", waits("ErrImagePull"), { reason: "CrashLoopBackOff" });
    expect(lastStatusDetail(pod)).toMatchObject({ reason: "ErrImagePull" });
  });

  test("is nothing of an earlier start, and nothing that cannot be read", () => {
    expect(lastStatusDetail(aPod("running", runs("True"), { reason: "CrashLoopBackOff" }))).toBeUndefined();
    const spoiled: Pod = { ...aPod("starting", runs("False")), metadata: { annotations: { [annotationKeys.sandboxStatusDetail]: "{" } } };
    expect(statusNote(spoiled)).toBeUndefined();
  });
});
