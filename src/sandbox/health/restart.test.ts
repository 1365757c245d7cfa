import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sandboxPhases } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { aContainerStatus, aPoolPod, nodeRestarts, pinned } from "../../../test/world/pool-pods.ts";
import { stableContainerStatuses, unexpectedRestart } from "./restart.ts";

function running(
  stable: unknown = { main: { containerID: "containerd://main-0", restartCount: 0 } },
  more: Record<string, string> = { main: "app" },
): Pod {
  const state = { phase: "completed", targetPodPhase: "running", stableContainerStatuses: stable };
  return aPoolPod({ phase: "running", id: "i1", images: more, state });
}

const outOfMemory = { exitCode: 137, reason: "OOMKilled", containerID: "containerd://main-0" };

describe("a container that was replaced by nobody's wish", () => {
  test("is found by its id, with what the node says of the one before", () => {
    expect(unexpectedRestart(running())).toBeUndefined();
    expect(unexpectedRestart(nodeRestarts(running(), "main", outOfMemory))).toEqual({
      container: "main",
      failureReason: "OOMKilled",
      exitCode: 137,
      failureMessage: "container main (containerd://main-0) ended with exit code 137 (OOMKilled) and was started anew",
    });
  });

  test("is found before the node has said why", () => {
    const pod = running();
    const other = aContainerStatus("main", pinned("app"), { containerID: "containerd://main-1" });
    expect(unexpectedRestart({ ...pod, status: { ...pod.status, containerStatuses: [other] } })).toEqual({
      container: "main",
      failureReason: "ContainerRestarted",
      failureMessage: "container main (containerd://main-0) ended (ContainerRestarted) and was started anew",
    });
  });

  test("says what the container said last", () => {
    const told = nodeRestarts(running(), "main", { exitCode: 1, reason: "Error", message: "no space left" });
    expect(unexpectedRestart(told)).toMatchObject({
      failureReason: "Error",
      exitCode: 1,
      failureMessage: expect.stringMatching(/: no space left$/) as string,
    });
  });

  test("is not found by the restart count alone: it may lag behind, or run ahead", () => {
    fc.assert(
      fc.property(fc.nat(100), fc.boolean(), (restartCount, isSame) => {
        const pod = running();
        const status = aContainerStatus("main", pinned("app"), {
          restartCount,
          containerID: isSame ? "containerd://main-0" : "containerd://x",
        });
        const found = unexpectedRestart({ ...pod, status: { ...pod.status, containerStatuses: [status] } });
        expect(found === undefined).toBe(isSame);
      }),
    );
  });

  test.for<[string, Pod]>([
    ["its earlier id is not known", running({ main: { restartCount: 0 } })],
    ["its earlier id is empty", running({ main: { containerID: "", restartCount: 0 } })],
    ["it was not noted", running({})],
    ["the state has no notes", aPoolPod({ phase: "running", id: "i1", state: { phase: "completed" } })],
    ["the state cannot be read", aPoolPod({ phase: "running", id: "i1", state: "{" })],
    [
      "the exchange is not over",
      aPoolPod({
        phase: "running",
        id: "i1",
        state: { phase: "starting", stableContainerStatuses: { main: { containerID: "x", restartCount: 0 } } },
      }),
    ],
  ])("is not assumed when %s", ([, pod]) => {
    expect(unexpectedRestart(nodeRestarts(pod, "main", outOfMemory))).toBeUndefined();
  });

  test("is not assumed when the node reports no id", () => {
    const pod = running();
    const status = aContainerStatus("main", pinned("app"), { containerID: "" });
    expect(unexpectedRestart({ ...pod, status: { ...pod.status, containerStatuses: [status] } })).toBeUndefined();
    expect(unexpectedRestart({ ...pod, status: {} })).toBeUndefined();
  });

  test("matters only while a sandbox is running", () => {
    const state = { phase: "completed", stableContainerStatuses: { main: { containerID: "x", restartCount: 0 } } };
    const found = sandboxPhases.filter((phase) => unexpectedRestart(aPoolPod({ phase, id: "i1", state })) !== undefined);
    expect(found).toEqual(["running"]);
  });
});

describe("what is noted of running containers", () => {
  const pod = aPoolPod({ images: { main: "app", side: "side", third: "third" } });

  test("is the id and count of the first one, and of those that were exchanged", () => {
    expect(stableContainerStatuses(pod, [])).toEqual({ main: { containerID: "containerd://main-0", restartCount: 0 } });
    expect(Object.keys(stableContainerStatuses(pod, ["third"]))).toEqual(["main", "third"]);
  });

  test("so that a side container of the pool may restart without harm", () => {
    const sandbox = running(stableContainerStatuses(pod, []), { main: "app", side: "side" });
    expect(unexpectedRestart(nodeRestarts(sandbox, "side", outOfMemory))).toBeUndefined();
    expect(unexpectedRestart(nodeRestarts(sandbox, "main", outOfMemory))).toBeDefined();
  });

  test("is no id where the node has not reported one", () => {
    const silent = aPoolPod({ status: { containerStatuses: [aContainerStatus("main", pinned("idle"), { containerID: "" })] } });
    expect(stableContainerStatuses(silent, [])).toEqual({ main: { restartCount: 0 } });
    expect(stableContainerStatuses({ ...silent, status: {} }, ["main"])).toEqual({});
  });
});
