import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys, sandboxPhases } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { aContainerStatus, aPoolPod, patched, pinned } from "../../../test/world/pool-pods.ts";
import { readInplaceUpdateState } from "./inplace-state.ts";
import { triggerUpdate, type UpdateOptions, type UpdatePlan, updateRefusals } from "./inplace-update.ts";

const now = Date.parse("2026-01-01T10:00:00.250Z");

function options(more: Partial<UpdateOptions> = {}): UpdateOptions {
  return { containerImages: { main: pinned("app") }, targetPodPhase: "running", updatePodPhase: "starting", ...more };
}

function triggered(pod: Pod, more: Partial<UpdateOptions> = {}): Pod {
  const plan = triggerUpdate(pod, options(more), now);
  if (plan.kind !== "patch") throw new Error(plan.message);
  return patched(pod, plan.patch);
}

function refusal(plan: UpdatePlan): string {
  return plan.kind === "refused" ? plan.code : plan.kind;
}

describe("beginning an exchange", () => {
  test("names the images, the phase and the state in one write", () => {
    const next = triggered(aPoolPod());
    expect(next.spec.containers[0]?.image).toBe(pinned("app"));
    expect(sandboxPhaseOf(next)).toBe("starting");
    expect(readInplaceUpdateState(next)).toEqual({
      kind: "state",
      state: {
        phase: "starting",
        targetImages: { main: pinned("app") },
        targetPodPhase: "running",
        updateTimestamp: "2026-01-01T10:00:00.250Z",
        lastContainerStatuses: { main: { imageID: pinned("idle").replace(":1-u0@", "@"), containerID: "containerd://main-0" } },
      },
    });
  });

  test("keeps what ran before only of the containers that are exchanged", () => {
    const next = triggered(aPoolPod({ images: { main: "idle", side: "side" } }), { containerImages: { side: pinned("other") } });
    expect(next.spec.containers.map(({ image }) => image)).toEqual([pinned("idle"), pinned("other")]);
    const read = readInplaceUpdateState(next);
    expect(read.kind === "state" && Object.keys(read.state.lastContainerStatuses ?? {})).toEqual(["side"]);
  });

  test("keeps nothing of a container that its node has not reported", () => {
    const silent = aPoolPod({
      status: { containerStatuses: [aContainerStatus("main", pinned("idle"), { imageID: "", containerID: "" })] },
    });
    const read = readInplaceUpdateState(triggered(silent));
    expect(read).toMatchObject({ state: { lastContainerStatuses: { main: {} } } });
    const none = readInplaceUpdateState(triggered({ ...aPoolPod(), status: {} }));
    expect(none).toMatchObject({ state: { lastContainerStatuses: {} } });
  });

  test("sets and removes labels and annotations with it", () => {
    const pod = aPoolPod({ labels: { old: "1" }, annotations: { gone: "2", kept: "3" } });
    const next = triggered(pod, { labels: { fresh: "x" }, annotations: { note: "y" }, removeLabels: ["old"], removeAnnotations: ["gone"] });
    expect(next.metadata.labels).toMatchObject({ fresh: "x" });
    expect(next.metadata.labels).not.toHaveProperty("old");
    expect(next.metadata.annotations).toMatchObject({ note: "y", kept: "3" });
    expect(next.metadata.annotations).not.toHaveProperty("gone");
  });

  test("cannot be told another state by its annotations", () => {
    const next = triggered(aPoolPod(), { annotations: { [annotationKeys.inplaceUpdateState]: "{}" } });
    expect(readInplaceUpdateState(next)).toMatchObject({ state: { phase: "starting" } });
  });

  test("goes the other way as well", () => {
    const next = triggered(aPoolPod({ phase: "running", id: "i1" }), { updatePodPhase: "stopping", targetPodPhase: "idle" });
    expect(sandboxPhaseOf(next)).toBe("stopping");
    expect(readInplaceUpdateState(next)).toMatchObject({ state: { phase: "stopping", targetPodPhase: "idle" } });
  });
});

describe("an exchange is refused", () => {
  test("on a pod without containers", () => {
    expect(triggerUpdate(aPoolPod({ images: {} }), options(), now)).toEqual({
      kind: "refused",
      code: "no-containers",
      message: "the pod has no containers",
    });
  });

  test("of a container that the pod has not", () => {
    expect(triggerUpdate(aPoolPod(), options({ containerImages: { other: "x" } }), now)).toEqual({
      kind: "refused",
      code: "container-not-found",
      message: 'the pod has no container "other"; it has main',
    });
  });

  test("when the pod is not in the phase that was expected", () => {
    const plan = triggerUpdate(aPoolPod({ phase: "running", id: "i1" }), options({ expectedPhase: "idle" }), now);
    expect(plan).toEqual({ kind: "refused", code: "unexpected-pod-phase", message: "the pod is running, not idle" });
    const foreign = aPoolPod({ metadata: { labels: {} } });
    expect(triggerUpdate(foreign, options({ expectedPhase: "idle" }), now)).toMatchObject({ message: "the pod is in no phase, not idle" });
  });

  test("from a phase that does not lead there, such as a second release", () => {
    const stopping = aPoolPod({ phase: "stopping", id: "i1" });
    expect(triggerUpdate(stopping, options({ updatePodPhase: "stopping", targetPodPhase: "idle" }), now)).toEqual({
      kind: "refused",
      code: "unexpected-pod-phase",
      message: "the pod is stopping, from where it cannot be stopping",
    });
  });

  test("without an image", () => {
    expect(refusal(triggerUpdate(aPoolPod(), options({ containerImages: {} }), now))).toBe("target-image-required");
    expect(triggerUpdate(aPoolPod(), options({ containerImages: { main: " " } }), now)).toMatchObject({
      code: "target-image-required",
      message: 'container "main" was given no image',
    });
  });

  test("with one of four codes, or not at all, whatever pod and wish are", () => {
    const images = fc.dictionary(fc.constantFrom("main", "side", "other"), fc.constantFrom("", " ", pinned("x")), {
      noNullPrototype: true,
    });
    const shape = fc.record({
      phase: fc.constantFrom(...sandboxPhases),
      images: fc.constantFrom({}, { main: "a" }, { main: "a", side: "b" }),
    });
    fc.assert(
      fc.property(
        shape,
        images,
        fc.option(fc.constantFrom(...sandboxPhases), { nil: undefined }),
        (pod, containerImages, expectedPhase) => {
          const plan = triggerUpdate(
            aPoolPod(pod),
            options({ containerImages, ...(expectedPhase === undefined ? {} : { expectedPhase }) }),
            now,
          );
          const outcome = plan.kind === "refused" ? plan.code : sandboxPhaseOf(patched(aPoolPod(pod), plan.patch));
          expect([...updateRefusals, "starting"]).toContain(outcome);
        },
      ),
    );
  });
});
