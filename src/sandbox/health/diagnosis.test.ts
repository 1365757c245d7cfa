import { describe, expect, test } from "vitest";
import type { ContainerState, ContainerStatus, Pod } from "#model/pod.ts";
import { aContainerStatus, aPoolPod, pinned, type PoolPodShape } from "../../../test/world/pool-pods.ts";
import { statusDetailFromPod } from "./diagnosis.ts";

function starting(state: ContainerState, more: Partial<ContainerStatus> = {}, shape: PoolPodShape = {}): Pod {
  const containerStatuses = [aContainerStatus("main", pinned("app"), { ready: false, state, ...more })];
  return aPoolPod({ phase: "starting", id: "i1", images: { main: "app" }, ...shape, status: { containerStatuses, ...shape.status } });
}

function reason(pod: Pod): string | undefined {
  return statusDetailFromPod(pod)?.reason;
}

describe("a pod that cannot start", () => {
  test.for([
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "CreateContainerError",
    "CreateContainerConfigError",
    "RunContainerError",
  ])("for %s says so, with what the node said", (waiting) => {
    expect(statusDetailFromPod(starting({ waiting: { reason: waiting, message: "no such thing" } }))).toEqual({
      podName: "py-1",
      phase: "starting",
      reason: waiting,
      message: "container main cannot start: no such thing",
    });
  });

  test("says why it crashes in a loop", () => {
    const waiting = { reason: "CrashLoopBackOff", message: "back-off 10s" };
    const crashed = starting({ waiting }, { lastState: { terminated: { exitCode: 1, reason: "Error" } } });
    expect(statusDetailFromPod(crashed)).toMatchObject({
      reason: "CrashLoopBackOff",
      message: "container main cannot start: back-off 10s; it ended with exit code 1 (Error)",
    });
    expect(reason(starting({ waiting }))).toBe("CrashLoopBackOff");
  });

  test("and crashes because it has too little memory is OOMKilled, which is what its user can change", () => {
    const crashed = starting(
      { waiting: { reason: "CrashLoopBackOff" } },
      { lastState: { terminated: { exitCode: 137, reason: "OOMKilled" } } },
    );
    expect(reason(crashed)).toBe("OOMKilled");
  });

  test("because no node takes it is unschedulable", () => {
    const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/3 nodes are available" } as const];
    const pod = aPoolPod({ status: { phase: "Pending", conditions, containerStatuses: [] } });
    expect(statusDetailFromPod(pod)).toEqual({
      podName: "py-1",
      phase: "idle",
      reason: "Unschedulable",
      message: "0/3 nodes are available",
    });
  });

  test.for([{ reason: "ContainerCreating" }, { reason: "PodInitializing" }, {}])("but is on its way (%j) is pulling", (waiting) => {
    expect(statusDetailFromPod(starting({ waiting }))).toMatchObject({
      reason: "Pulling",
      message: `container main is being made from ${pinned("app")}`,
    });
  });

  test("and whose old container was just stopped is on its way, too", () => {
    const state = {
      phase: "starting",
      targetImages: { main: pinned("app") },
      lastContainerStatuses: { main: { containerID: "containerd://main-0" } },
    };
    expect(reason(starting({ terminated: { exitCode: 143, reason: "Error" } }, {}, { state }))).toBe("Pulling");
    expect(
      reason(
        starting({ terminated: { exitCode: 1, reason: "Error" } }, { restartCount: 1, containerID: "containerd://main-1" }, { state }),
      ),
    ).toBe("Error");
  });
});

describe("a pod that has ended", () => {
  test.for([
    [{ reason: "Evicted", message: "low on memory" }, "Evicted", "low on memory"],
    [{ reason: "DeadlineExceeded", message: "too long" }, "PodFailed", "too long"],
    [{}, "PodFailed", "the pod failed"],
  ] as const)("with %j is %s", ([status, expected, message]) => {
    const pod = aPoolPod({ phase: "failed", id: "i1", status: { phase: "Failed", containerStatuses: [], ...status } });
    expect(statusDetailFromPod(pod)).toMatchObject({ phase: "failed", reason: expected, message });
  });

  test("out of memory says so", () => {
    const pod = starting({ terminated: { exitCode: 137, reason: "OOMKilled" } }, {}, { status: { phase: "Failed" } });
    expect(reason(pod)).toBe("OOMKilled");
  });

  test("is told by its container while it is not back", () => {
    const told = starting({ terminated: { exitCode: 137, reason: "OOMKilled", message: "killed" } }, {}, { phase: "running" });
    expect(statusDetailFromPod(told)).toMatchObject({ reason: "OOMKilled", message: "container main ended with exit code 137: killed" });
    expect(reason(starting({ terminated: { exitCode: 2 } }))).toBe("PodFailed");
  });

  test("is told by its container also when that ended well: a sandbox is not to end by itself", () => {
    const told = starting({ terminated: { exitCode: 0, reason: "Completed" } }, {}, { phase: "running" });
    expect(reason(told)).toBe("Completed");
    const beside = starting({ terminated: { exitCode: 0, reason: "Completed" } }, {}, { spec: { initContainers: [{ name: "init" }] } });
    expect(reason(beside)).toBe("Completed");
  });
});

describe("of several findings", () => {
  const pull = aContainerStatus("main", pinned("app"), { ready: false, state: { waiting: { reason: "ErrImagePull" } } });
  const creating = aContainerStatus("side", pinned("side"), { ready: false, state: { waiting: { reason: "ContainerCreating" } } });
  const crash = aContainerStatus("side", pinned("side"), { ready: false, state: { terminated: { exitCode: 1, reason: "Error" } } });

  test("the pod's end goes first, then the scheduler, then what cannot start, what is not back, what is on its way", () => {
    const unschedulable = { conditions: [{ type: "PodScheduled", status: "False" } as const] };
    const base = { phase: "starting", id: "i1", images: { main: "app", side: "side" } } as const;
    const at = (status: PoolPodShape["status"] = {}): string | undefined => reason(aPoolPod({ ...base, status }));
    expect(at({ phase: "Failed", ...unschedulable, containerStatuses: [pull] })).toBe("PodFailed");
    expect(at({ ...unschedulable, containerStatuses: [pull] })).toBe("Unschedulable");
    expect(at({ containerStatuses: [creating, pull] })).toBe("ErrImagePull");
    expect(at({ containerStatuses: [crash, pull] })).toBe("ErrImagePull");
    expect(at({ containerStatuses: [crash, { ...creating, name: "main" }] })).toBe("Error");
    expect(at({ containerStatuses: [creating] })).toBe("Pulling");
  });

  test("init containers speak before the others, and those that have done their work do not speak", () => {
    const init = aContainerStatus("init", "init:1", { ready: false, state: { waiting: { reason: "ImagePullBackOff" } } });
    const done = aContainerStatus("init", "init:1", { state: { terminated: { exitCode: 0, reason: "Completed" } } });
    const spec = { initContainers: [{ name: "init", image: "init:1" }] };
    expect(reason(aPoolPod({ spec, status: { initContainerStatuses: [init], containerStatuses: [pull] } }))).toBe("ImagePullBackOff");
    expect(reason(aPoolPod({ spec, status: { initContainerStatuses: [done], containerStatuses: [creating] } }))).toBe("Pulling");
    const broken = { ...done, state: { terminated: { exitCode: 3, reason: "Error" } } };
    expect(reason(aPoolPod({ spec, status: { initContainerStatuses: [broken], containerStatuses: [creating] } }))).toBe("Error");
  });
});

test("the image that is named is that of the container", () => {
  const side = aContainerStatus("side", pinned("side"), { ready: false, state: { waiting: {} } });
  const pod = aPoolPod({ images: { main: "app", side: "side" }, status: { containerStatuses: [side] } });
  expect(statusDetailFromPod(pod)?.message).toBe(`container side is being made from ${pinned("side")}`);
});

describe("there is nothing to say", () => {
  test("of pods that are well, or merely going", () => {
    const pods = [
      aPoolPod(),
      aPoolPod({ phase: "running", id: "i1" }),
      aPoolPod({ phase: "running", id: "i1", metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }),
      { ...aPoolPod(), status: {} },
    ];
    expect(pods.map(statusDetailFromPod)).toEqual(pods.map(() => undefined));
  });

  test("of a container that ran before and is back", () => {
    const back = aContainerStatus("main", pinned("app"), { lastState: { terminated: { exitCode: 137, reason: "OOMKilled" } } });
    expect(statusDetailFromPod(aPoolPod({ status: { containerStatuses: [back] } }))).toBeUndefined();
  });
});
