import { describe, expect, test } from "vitest";
import type { PodStatus } from "#model/pod.ts";
import { aContainerStatus, aPoolPod, pinned } from "../../../test/world/pool-pods.ts";
import { deathOf } from "./death.ts";

const going = { deletionTimestamp: "2026-01-01T12:00:30Z" };

function dead(status: Partial<PodStatus>): ReturnType<typeof deathOf> {
  return deathOf(aPoolPod({ phase: "running", id: "i1", status: { phase: "Failed", ...status } }));
}

function disrupted(reason: string): ReturnType<typeof deathOf> {
  const conditions = [{ type: "DisruptionTarget", status: "True", reason, message: "because" } as const];
  return deathOf(aPoolPod({ phase: "running", id: "i1", metadata: going, status: { conditions } }));
}

describe("a pod that lives", () => {
  test("has no cause of death, in whatever phase it is", () => {
    expect(deathOf(aPoolPod({ phase: "running", id: "i1" }))).toBeUndefined();
    expect(deathOf(aPoolPod({ ready: false, status: { phase: "Pending" } }))).toBeUndefined();
    const threatened = aPoolPod({
      status: { conditions: [{ type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" }] },
    });
    expect(deathOf(threatened)).toBeUndefined();
  });
});

describe("a pod that was taken away", () => {
  test.for([
    ["DeletionByTaintManager", "NodeLost"],
    ["DeletionByPodGC", "NodeLost"],
    ["EvictionByEvictionAPI", "Evicted"],
    ["PreemptionByScheduler", "Evicted"],
    ["TerminationByKubelet", "Evicted"],
  ] as const)("for %s ended as %s", ([reason, failureReason]) => {
    expect(disrupted(reason)).toEqual({ failureReason, failureMessage: "because" });
  });

  test("for a reason that nobody knows was deleted", () => {
    expect(disrupted("SomethingNew")).toEqual({ failureReason: "PodDeleted", failureMessage: "the pod was deleted" });
    expect(disrupted("constructor")).toMatchObject({ failureReason: "PodDeleted" });
  });

  test("by somebody who gave no reason was deleted", () => {
    expect(deathOf(aPoolPod({ phase: "starting", id: "i1", metadata: going }))).toEqual({
      failureReason: "PodDeleted",
      failureMessage: "the pod was deleted",
    });
  });

  test("does not blame its container, which was killed because of that", () => {
    const terminated = { exitCode: 137, reason: "Error" };
    const containerStatuses = [aContainerStatus("main", pinned("app"), { state: { terminated } })];
    expect(deathOf(aPoolPod({ phase: "running", id: "i1", metadata: going, status: { containerStatuses } }))).toMatchObject({
      failureReason: "PodDeleted",
    });
  });
});

describe("a pod that failed", () => {
  test.for([
    ["Evicted", "Evicted"],
    ["Preempting", "Evicted"],
    ["NodeLost", "NodeLost"],
    ["NodeShutdown", "NodeLost"],
    ["Terminated", "NodeLost"],
  ] as const)("with the reason %s ended as %s", ([reason, failureReason]) => {
    expect(dead({ reason, message: "the node was low on memory" })).toEqual({
      failureReason,
      failureMessage: "the node was low on memory",
    });
    expect(dead({ reason })).toEqual({ failureReason, failureMessage: reason });
  });

  test("because its sandbox's container did says so, with the exit code", () => {
    const state = { terminated: { exitCode: 137, reason: "OOMKilled" } };
    expect(dead({ containerStatuses: [aContainerStatus("main", pinned("app"), { state })] })).toEqual({
      failureReason: "OOMKilled",
      failureMessage: "container main ended with exit code 137 (OOMKilled)",
      exitCode: 137,
    });
    const spoke = { terminated: { exitCode: 2, message: "bye" } };
    expect(dead({ containerStatuses: [aContainerStatus("main", pinned("app"), { state: spoke })] })).toEqual({
      failureReason: "PodFailed",
      failureMessage: "container main ended with exit code 2 (PodFailed): bye",
      exitCode: 2,
    });
  });

  test("for any other reason gives that, or just says that it failed", () => {
    expect(dead({ reason: "DeadlineExceeded", message: "too long" })).toEqual({
      failureReason: "DeadlineExceeded",
      failureMessage: "too long",
    });
    expect(dead({ message: "" })).toEqual({ failureReason: "PodFailed", failureMessage: "the pod failed" });
    expect(dead({ phase: "Succeeded" })).toMatchObject({ failureReason: "PodFailed" });
  });
});
