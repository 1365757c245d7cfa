import { describe, expect, test } from "vitest";
import type { ContainerState, ContainerStatus, Pod, PodStatus } from "#model/pod.ts";
import { podColumns } from "./pod-columns.ts";
import { podSummary } from "./pod-summary.ts";

const running: ContainerState = { running: {} };
const exited = (exitCode: number, reason?: string): ContainerState => ({
  terminated: { exitCode, ...(reason !== undefined && { reason }) },
});
const waiting = (reason: string): ContainerState => ({ waiting: { reason } });

function container(name: string, state: ContainerState, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name, image: "i", imageID: "", ready: state.running !== undefined, restartCount: 0, state, ...more };
}

function pod(status: PodStatus, spec: Partial<Pod["spec"]> = {}, metadata: Pod["metadata"] = {}): Pod {
  return { metadata: { name: "p", ...metadata }, spec: { containers: [{ name: "a" }, { name: "b" }], ...spec }, status };
}

const twoInits = { initContainers: [{ name: "i1" }, { name: "i2" }] };
const ready = [{ type: "Ready", status: "True" as const }];

/** The words were compared with kubectl on 240 random pods. */
describe("the word for a pod", () => {
  const words: readonly [string, Pod, string][] = [
    ["is its phase at first", pod({ phase: "Pending" }), "Pending"],
    ["is empty without a status", { metadata: {}, spec: { containers: [] } }, ""],
    ["is its reason if it has one", pod({ phase: "Failed", reason: "Evicted" }), "Evicted"],
    [
      "says that it may not be scheduled",
      pod({ conditions: [{ type: "PodScheduled", status: "False", reason: "SchedulingGated" }] }),
      "SchedulingGated",
    ],
    [
      "is Running when its containers run",
      pod({ phase: "Running", containerStatuses: [container("a", running), container("b", running)] }),
      "Running",
    ],
    [
      "is what its first troubled container waits for",
      pod({ phase: "Running", containerStatuses: [container("a", running), container("b", waiting("CrashLoopBackOff"))] }),
      "CrashLoopBackOff",
    ],
    ["is why a container ended", pod({ phase: "Failed", containerStatuses: [container("a", exited(137, "OOMKilled"))] }), "OOMKilled"],
    ["is the exit code without a reason", pod({ phase: "Failed", containerStatuses: [container("a", exited(3))] }), "ExitCode:3"],
    [
      "is the signal without a reason",
      pod({ containerStatuses: [container("a", { terminated: { exitCode: 137, signal: 9 } })] }),
      "Signal:9",
    ],
    [
      "stays Running while one runs and is ready",
      pod({ phase: "Running", conditions: ready, containerStatuses: [container("a", exited(0, "Completed")), container("b", running)] }),
      "Running",
    ],
    [
      "is NotReady while one runs and the pod is not ready",
      pod({ phase: "Running", containerStatuses: [container("a", exited(0, "Completed")), container("b", running)] }),
      "NotReady",
    ],
    [
      "is the failure beside a completed container",
      pod({ phase: "Failed", containerStatuses: [container("a", exited(0, "Completed")), container("b", exited(1, "Error"))] }),
      "Error",
    ],
    ["is Completed when all are", pod({ phase: "Succeeded", containerStatuses: [container("a", exited(0, "Completed"))] }), "Completed"],
    [
      "counts init containers",
      pod({ phase: "Pending", initContainerStatuses: [container("i1", exited(0)), container("i2", running)] }, twoInits),
      "Init:1/2",
    ],
    [
      "names what an init container waits for",
      pod({ phase: "Pending", initContainerStatuses: [container("i1", waiting("ErrImagePull"))] }, twoInits),
      "Init:ErrImagePull",
    ],
    [
      "does not name the usual wait",
      pod({ phase: "Pending", initContainerStatuses: [container("i1", waiting("PodInitializing"))] }, twoInits),
      "Init:0/2",
    ],
    [
      "names how an init container failed",
      pod({ phase: "Pending", initContainerStatuses: [container("i1", exited(2))] }, twoInits),
      "Init:ExitCode:2",
    ],
    ["is Terminating while it is deleted", pod({ phase: "Running" }, {}, { deletionTimestamp: "2026-01-01T00:00:00Z" }), "Terminating"],
    ["stays as it ended while it is deleted", pod({ phase: "Succeeded" }, {}, { deletionTimestamp: "2026-01-01T00:00:00Z" }), "Succeeded"],
    [
      "is Unknown when its node is lost",
      pod({ phase: "Running", reason: "NodeLost" }, {}, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
      "Unknown",
    ],
  ];

  test.each(words)("%s", (_fact, given, word) => {
    expect(podSummary(given).reason).toBe(word);
  });
});

describe("the numbers of a pod", () => {
  test("count containers that are ready among all, sidecars included", () => {
    const spec = { initContainers: [{ name: "i1", restartPolicy: "Always" }, { name: "i2" }] };
    const status: PodStatus = {
      phase: "Running",
      initContainerStatuses: [container("i1", running, { started: true }), container("i2", exited(0))],
      containerStatuses: [container("a", running), container("b", waiting("ContainerCreating"))],
    };
    expect(podSummary(pod(status, spec))).toMatchObject({ ready: 2, total: 3, reason: "ContainerCreating" });
  });

  test("add up restarts of containers and remember the last", () => {
    const ended = (finishedAt: string): Partial<ContainerStatus> => ({
      restartCount: 2,
      lastState: { terminated: { exitCode: 1, finishedAt } },
    });
    const statuses = [container("a", running, ended("2026-01-01T00:00:00Z")), container("b", running, ended("2026-01-01T00:01:00Z"))];
    expect(podSummary(pod({ containerStatuses: statuses }))).toMatchObject({ restarts: 4, lastRestart: "2026-01-01T00:01:00Z" });
  });

  test("leave out restarts of init containers once those are done", () => {
    const status: PodStatus = {
      initContainerStatuses: [container("i1", exited(0), { restartCount: 3 })],
      containerStatuses: [container("a", running, { restartCount: 1 })],
    };
    expect(podSummary(pod(status, twoInits)).restarts).toBe(1);
    const starting: PodStatus = { initContainerStatuses: [container("i1", running, { restartCount: 3 })] };
    expect(podSummary(pod(starting, twoInits)).restarts).toBe(3);
  });
});

describe("the columns of a pod", () => {
  const cells = (given: Pod): unknown[] => podColumns.map((column) => column.cell(given, Date.UTC(2026, 0, 1, 0, 5)));

  test("say how long ago it restarted, where it runs and what it still waits for", () => {
    const lastState = { terminated: { exitCode: 1, finishedAt: "2026-01-01T00:00:00Z" } };
    const status: PodStatus = {
      phase: "Running",
      podIPs: [{ ip: "10.0.0.7" }],
      nominatedNodeName: "n2",
      conditions: [{ type: "a/gate", status: "True" }],
      containerStatuses: [container("a", running, { restartCount: 2, lastState })],
    };
    const spec = { nodeName: "n1", readinessGates: [{ conditionType: "a/gate" }, { conditionType: "b/gate" }] };
    const given = pod(status, spec, { creationTimestamp: "2025-12-31T23:05:00Z" });
    expect(cells(given)).toEqual(["p", "1/2", "Running", "2 (5m ago)", "60m", "10.0.0.7", "n1", "n2", "1/2"]);
  });

  test("are <none> where there is nothing", () => {
    expect(cells(pod({ phase: "Pending" }))).toEqual(["p", "0/2", "Pending", "0", "<unknown>", "<none>", "<none>", "<none>", "<none>"]);
  });
});
