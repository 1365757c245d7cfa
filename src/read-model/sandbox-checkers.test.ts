import { describe, expect, test } from "vitest";
import { annotationKeys } from "#model/keys.ts";
import { freezeFailedMessage } from "#model/pause.ts";
import type { Pod } from "#model/pod.ts";
import { aSandboxPod, type SandboxPodShape } from "../../test/world/sandbox-pods.ts";
import * as checkers from "./sandbox-checkers.ts";
import type { Verdict } from "#kube/wait/verdict.ts";

const wish = "2026-01-01T10:00:00Z";
const now = Date.parse(wish);
const checkPaused = (pod: Pod): Verdict => checkers.checkPaused(pod);
const checkResumed = (pod: Pod): Verdict => checkers.checkResumed(pod, now);
const checkReady = (pod: Pod): Verdict => checkers.checkReady(pod, now);
const endsAt = (time: string): SandboxPodShape => ({ annotations: { [annotationKeys.endTime]: time } });

function running(shape: SandboxPodShape = {}): Pod {
  return aSandboxPod("p", { phase: "running", id: "i1", ...shape });
}

function inState(reason: string, message?: string): Partial<NonNullable<Pod["status"]>> {
  const waiting = message === undefined ? { reason } : { reason, message };
  return { containerStatuses: [{ name: "main", image: "", imageID: "", ready: false, restartCount: 0, state: { waiting } }] };
}

const over: [string, Pod, string][] = [
  ["is idle", aSandboxPod("p"), "Released"],
  ["is stopping", aSandboxPod("p", { phase: "stopping", id: "i1" }), "Released"],
  ["has failed", aSandboxPod("p", { phase: "failed", id: "i1" }), "Released"],
  ["is being deleted", running({ metadata: { deletionTimestamp: wish } }), "Terminating"],
  ["was evicted", running({ status: { phase: "Failed", reason: "Evicted" } }), "PodFailed"],
  ["has run to its end", running({ status: { phase: "Succeeded" } }), "PodFailed"],
];

describe.for([
  ["paused", checkPaused],
  ["resumed", checkResumed],
  ["ready", checkReady],
] as const)("waiting until it is %s", ([, check]) => {
  test.for(over)("fails when the pod %s", ([, pod, reason]) => {
    expect(check(pod)).toMatchObject({ kind: "failed", reason });
  });
});

describe.for([
  ["resumed", checkResumed],
  ["ready", checkReady],
] as const)("a sandbox with an end time, awaited until it is %s,", ([, check]) => {
  test.for<[string, SandboxPodShape, Partial<Verdict>]>([
    ["is over at that time", endsAt(wish), { kind: "failed", reason: "PastEnd" }],
    ["is over after it, frozen or not", { ...endsAt("2026-01-01T09:00:00Z"), paused: {} }, { kind: "failed", reason: "PastEnd" }],
    ["says when it ended", endsAt("2026-01-01T11:00:00+02:00"), { message: "the sandbox's end time 2026-01-01T09:00:00.000Z was reached" }],
    ["lives before it", endsAt("2026-01-01T10:00:00.001Z"), { kind: "satisfied" }],
    [
      "is out of its reach while it is wished paused",
      { ...endsAt("2026-01-01T09:00:00Z"), pauseWish: wish, paused: {} },
      { kind: "waiting" },
    ],
    ["lives when the text is no time", endsAt("tomorrow"), { kind: "satisfied" }],
  ])("%s", ([, shape, verdict]) => {
    expect(check(running(shape))).toMatchObject(verdict);
  });
});

test("a sandbox past its end time can be paused: that may be how it ends", () => {
  expect(checkPaused(running({ ...endsAt("2025-01-01T00:00:00Z"), pauseWish: wish, paused: {} }))).toEqual({ kind: "satisfied" });
});

test("the end of a sandbox is told with its reasons", () => {
  const annotations = { [annotationKeys.stopReason]: "Released", [annotationKeys.failureReason]: "IdleTimeout" };
  const pod = aSandboxPod("p", { phase: "stopping", id: "i1", annotations });
  expect(checkReady(pod)).toMatchObject({ message: "the pod carries no live sandbox: Released, IdleTimeout" });
  const evicted = running({ status: { phase: "Failed", reason: "Evicted", message: "disk pressure" } });
  expect(checkReady(evicted)).toMatchObject({ message: "the pod has ended: Evicted, disk pressure" });
});

describe("a sandbox is paused", () => {
  test("when it is wished so and its container is frozen, ready or not", () => {
    expect(checkPaused(running({ pauseWish: wish, paused: {}, ready: false }))).toEqual({ kind: "satisfied" });
    expect(checkPaused(running({ pauseWish: wish, paused: {} }))).toEqual({ kind: "satisfied" });
  });

  test("not before the node says so", () => {
    expect(checkPaused(running({ pauseWish: wish }))).toMatchObject({ kind: "waiting" });
    expect(checkPaused(running({ pauseWish: wish, paused: { status: "False" } }))).toMatchObject({ kind: "waiting" });
  });

  test("not by a freeze that is left from before, with nobody wishing it", () => {
    expect(checkPaused(running({ paused: {} }))).toMatchObject({ kind: "waiting", missing: "the pod does not show the wish to pause" });
  });

  test("never while it starts, and never when the node cannot freeze", () => {
    expect(checkPaused(aSandboxPod("p", { phase: "starting", id: "i1", pauseWish: wish }))).toMatchObject({
      kind: "failed",
      reason: "NotRunning",
    });
    const refused = running({
      pauseWish: wish,
      paused: { status: "False", reason: "FreezeFailed", message: freezeFailedMessage(wish, "no freezer") },
    });
    expect(checkPaused(refused)).toMatchObject({ kind: "failed", reason: "FreezeFailed", message: expect.stringContaining("no freezer") });
  });
});

describe("a sandbox is resumed", () => {
  test("when nobody wishes the pause, the container is thawed, and it answers", () => {
    expect(checkResumed(running())).toEqual({ kind: "satisfied" });
    expect(checkResumed(running({ paused: { status: "False" } }))).toEqual({ kind: "satisfied" });
  });

  test.for<[string, SandboxPodShape]>([
    ["the wish to pause is there", { pauseWish: wish }],
    ["the container is frozen", { paused: {} }],
    ["the probe has not answered since", { ready: false }],
    ["it has no address", { status: { podIP: "" } }],
  ])("not while %s", ([, shape]) => {
    expect(checkResumed(running(shape))).toMatchObject({ kind: "waiting" });
  });

  test("never if it had not even started", () => {
    expect(checkResumed(aSandboxPod("p", { phase: "starting", id: "i1" }))).toMatchObject({ kind: "failed", reason: "NotRunning" });
  });
});

describe("a sandbox is ready", () => {
  test.for<[string, SandboxPodShape]>([
    ["it runs on the image that the pod waited with", {}],
    ["its swap is completed", { swap: '{"phase":"completed"}' }],
    ["the node has seen the latest spec", { metadata: { generation: 3 }, status: { observedGeneration: 3 } }],
    ["the node does not report what it has seen", { metadata: { generation: 3 } }],
  ])("when %s", ([, shape]) => {
    expect(checkReady(running(shape))).toEqual({ kind: "satisfied" });
  });

  test.for<[string, SandboxPodShape, string]>([
    ["it is starting", { phase: "starting" }, "the sandbox is starting"],
    ["its container is being swapped", { swap: '{"phase":"starting"}' }, "the container is being swapped"],
    ["its swap state cannot be read", { swap: "{" }, "the container is being swapped"],
    ["its swap state is null", { swap: "null" }, "the container is being swapped"],
    [
      "the node has not seen the latest spec",
      { metadata: { generation: 3 }, status: { observedGeneration: 2 } },
      "the node has not seen the latest change of the pod",
    ],
    ["it is paused", { pauseWish: wish, paused: {} }, "the pod shows the wish to pause"],
    ["its image is being pulled", { ready: false, status: inState("ErrImagePull") }, "the pod is not ready (main: ErrImagePull)"],
    ["no condition says Ready", { status: { conditions: [] } }, "the pod is not ready"],
    ["it has no address", { status: { podIP: "" } }, "the pod has no address"],
  ])("not while %s", ([, shape, missing]) => {
    expect(checkReady(running(shape))).toEqual({ kind: "waiting", missing });
  });

  test("never when its container cannot start", () => {
    const pod = aSandboxPod("p", { phase: "starting", id: "i1", ready: false, status: inState("CreateContainerError", "no such command") });
    expect(checkReady(pod)).toEqual({
      kind: "failed",
      reason: "StartContainerFailed",
      message: "container main cannot start: CreateContainerError, no such command",
    });
  });

  test("not as long as the pod has no status", () => {
    const { status: _, ...bare } = running();
    expect(checkReady(bare)).toMatchObject({ kind: "waiting" });
  });
});
