import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ContainerStatus, Pod } from "#model/pod.ts";
import { aContainerStatus, aPoolPod, digestOf, nodeCatchesUp, patched, pinned } from "../../../test/world/pool-pods.ts";
import { completionOf, isToBeDeleted } from "./inplace-completion.ts";
import { triggerUpdate } from "./inplace-update.ts";

const now = Date.parse("2026-01-01T10:00:00Z");

/** A pod whose container `main` is to run `image`, as its node found it: on the container before. */
function exchanging(image = pinned("app"), images: Record<string, string> = { main: "idle" }): Pod {
  const pod = aPoolPod({ images });
  const plan = triggerUpdate(pod, { containerImages: { main: image }, targetPodPhase: "running", updatePodPhase: "starting" }, now);
  if (plan.kind !== "patch") throw new Error(plan.message);
  return patched(pod, plan.patch);
}

function reporting(pod: Pod, status: Partial<ContainerStatus>): Pod {
  const [main] = nodeCatchesUp(pod).status?.containerStatuses ?? [];
  if (main === undefined) throw new Error("no container");
  return { ...pod, status: { ...pod.status, containerStatuses: [{ ...main, ...status }] } };
}

function why(pod: Pod): string {
  const completion = completionOf(pod);
  return completion.kind === "waiting" ? completion.why : completion.kind;
}

describe("an exchange is over", () => {
  test("when the node reports the new container, running and ready", () => {
    expect(why(exchanging())).toBe("container main is still the one before");
    expect(completionOf(nodeCatchesUp(exchanging()))).toMatchObject({
      kind: "completed",
      state: { phase: "starting", targetPodPhase: "running" },
    });
  });

  test("also when old and new image are the same content: another container is what counts", () => {
    const again = exchanging(pinned("idle", 1));
    expect(why(again)).toBe("container main is still the one before");
    expect(completionOf(nodeCatchesUp(again)).kind).toBe("completed");
  });

  test("whatever tag and name the node reports beside the digest", () => {
    const pod = reporting(exchanging(), {
      image: "registry.invalid/app:older",
      imageID: `docker-pullable://other.invalid/x@${digestOf("app")}`,
    });
    expect(completionOf(pod).kind).toBe("completed");
  });

  test("only when every exchanged container is, and others do not matter", () => {
    const pod = aPoolPod({ images: { main: "idle", side: "side", third: "third" } });
    const containerImages = { main: pinned("app"), side: pinned("side", 1) };
    const plan = triggerUpdate(pod, { containerImages, targetPodPhase: "running", updatePodPhase: "starting" }, now);
    if (plan.kind !== "patch") throw new Error(plan.message);
    const started = nodeCatchesUp(patched(pod, plan.patch));
    expect(completionOf(started).kind).toBe("completed");
    const statuses = started.status?.containerStatuses ?? [];
    const [main, side, third] = statuses;
    if (main === undefined || side === undefined || third === undefined) throw new Error("three containers");
    const withSideDown = [main, { ...side, ready: false }, third];
    expect(why({ ...started, status: { ...started.status, containerStatuses: withSideDown } })).toBe("container side is not ready");
    const withThirdDown = [main, side, { ...third, ready: false }];
    expect(completionOf({ ...started, status: { ...started.status, containerStatuses: withThirdDown } }).kind).toBe("completed");
  });
});

describe("an exchange is not over", () => {
  test.for<[string, Partial<ContainerStatus>, string]>([
    [
      "W6: while the container crashes in a loop",
      { ready: false, state: { waiting: { reason: "CrashLoopBackOff" } } },
      "is not running: CrashLoopBackOff",
    ],
    ["W6: when the digest is there and the container is the one before", { containerID: "containerd://main-0" }, "is still the one before"],
    [
      "W6: when another digest runs under the tag that was asked for",
      { imageID: `registry.invalid/app@${digestOf("pushed again")}` },
      `and not ${digestOf("app")}`,
    ],
    ["before the new container is ready", { ready: false }, "is not ready"],
    ["before it runs", { state: {} }, "is not running"],
    ["while the old one is gone and the new one is not made", { containerID: "" }, "has not been created"],
    ["before the node says what it runs", { imageID: "" }, "runs nothing"],
  ])("%s", ([, status, expected]) => {
    expect(why(reporting(exchanging(), status))).toContain(expected);
  });

  test("when nobody knows which container was there before", () => {
    const silent = aPoolPod({ status: { containerStatuses: [aContainerStatus("main", pinned("idle"), { containerID: "" })] } });
    const plan = triggerUpdate(
      silent,
      { containerImages: { main: pinned("app") }, targetPodPhase: "running", updatePodPhase: "starting" },
      now,
    );
    if (plan.kind !== "patch") throw new Error(plan.message);
    expect(why(nodeCatchesUp(patched(silent, plan.patch)))).toBe(
      "container main cannot be told from the one before, whose id was not reported",
    );
  });

  test("when the node reports nothing, or the pod is to run something else by now", () => {
    expect(why({ ...exchanging(), status: {} })).toBe("container main is not reported by its node");
    const moved = nodeCatchesUp(exchanging());
    expect(why({ ...moved, spec: { containers: [{ name: "main", image: pinned("later") }] } })).toContain(
      `is to run ${pinned("later")} by now`,
    );
  });

  test("when the target is not pinned, so that no digest can equal it", () => {
    expect(why(nodeCatchesUp(exchanging("app:latest")))).toContain("and not a pinned image");
  });

  test("when its state cannot be read", () => {
    expect(why(aPoolPod({ phase: "starting", id: "i1", state: "{" }))).toContain("cannot be read");
  });

  test("in no combination but the one with all four signs", () => {
    const sign = fc.boolean();
    fc.assert(
      fc.property(sign, sign, sign, sign, (digest, id, running, ready) => {
        const pod = reporting(exchanging(), {
          imageID: digest ? `x@${digestOf("app")}` : `x@${digestOf("idle")}`,
          containerID: id ? "containerd://main-1" : "containerd://main-0",
          state: running ? { running: {} } : { waiting: { reason: "ContainerCreating" } },
          ready,
        });
        expect(completionOf(pod).kind === "completed").toBe(digest && id && running && ready);
      }),
    );
  });
});

describe("W14: there is nothing to finish", () => {
  test("on a pod without an exchange, one whose exchange is done, and one that left its phase", () => {
    const done = { phase: "completed", targetPodPhase: "running" };
    const pods = [
      aPoolPod(),
      aPoolPod({ phase: "running", id: "i1", state: done }),
      aPoolPod({ phase: "running", id: "i1", state: { phase: "starting" } }),
    ];
    expect(pods.map((pod) => completionOf(pod).kind)).toEqual(["no-update", "no-update", "no-update"]);
  });
});

describe("a pod is to be replaced", () => {
  const stopping = { phase: "stopping", id: "i1" } as const;

  test("when it is stopping and gets no new containers, or nobody knows which", () => {
    const pods = [
      aPoolPod({ ...stopping, state: { phase: "stopping", targetImages: {} } }),
      aPoolPod({ ...stopping, state: { phase: "completed" } }),
      aPoolPod({ ...stopping, state: "{" }),
      aPoolPod(stopping),
    ];
    expect(pods.map(isToBeDeleted)).toEqual([true, true, true, true]);
    expect(why(aPoolPod({ ...stopping, state: { phase: "stopping", targetImages: {} } }))).toBe(
      "no container is exchanged: the pod is to be replaced",
    );
  });

  test("not when its containers are exchanged, nor in any other phase", () => {
    expect(isToBeDeleted(aPoolPod({ ...stopping, state: { phase: "stopping", targetImages: { main: pinned("idle", 1) } } }))).toBe(false);
    expect(isToBeDeleted(aPoolPod())).toBe(false);
    expect(isToBeDeleted(aPoolPod({ phase: "running", id: "i1" }))).toBe(false);
  });
});
