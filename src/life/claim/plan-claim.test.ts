import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkReady } from "#read-model/sandbox-checkers.ts";
import { isClaimed, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { closedEgress } from "#model/egress-policy.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { aPoolPod, digestOf, patched, pinned, type PoolPodShape, withStatus } from "../../../test/world/pool-pods.ts";
import { type Claim, type ClaimPlan, planClaim } from "./plan-claim.ts";
import type { TargetImages } from "#sandbox/images/images.ts";
import { readInplaceUpdateState } from "#sandbox/images/inplace-state.ts";

const now = Date.parse("2026-01-01T10:00:00.250Z");

function targets(images: Readonly<Record<string, string>>): TargetImages {
  const entries = Object.entries(images).map(([name, image]) => [name, { image: `registry.invalid/${image}:1`, digest: digestOf(image) }]);
  return Object.fromEntries(entries) as TargetImages;
}

function aClaim(more: Partial<Claim> = {}): Claim {
  return { sandboxId: "i1", images: targets({ main: "app" }), ...more };
}

function claimed(pod: Pod, claim: Claim): Pod {
  const plan = planClaim(pod, claim, now);
  if (plan.kind !== "patch") throw new Error(plan.message);
  return patched(pod, plan.patch);
}

function path(plan: ClaimPlan): string {
  return plan.kind === "patch" ? plan.path : plan.code;
}

const onAppImage: PoolPodShape = { images: { main: "app" } };

describe("a claim on the fast path", () => {
  test.for<[string, Partial<Claim>, boolean]>([
    ["an egress policy is for the node that enforces it", { egress: closedEgress }, true],
    ["volumes are for the node that mounts them", { volumeMounts: [{ uid: "u", name: "v", path: "/v", readOnly: false }] }, true],
    ["no volumes are for nothing", { volumeMounts: [] }, false],
    ["labels are for those who select by them", { labels: { app: "x" } }, true],
    ["annotations are for those who read them", { annotations: { note: "x" } }, true],
    [
      "what only AgentBox reads may stay beside the pod",
      { privateTraffic: true, maskHost: "x", autoResume: true, metadata: { a: "b" } },
      false,
    ],
  ])("%s", ([, more, isForPod]) => {
    expect(planClaim(aPoolPod(onAppImage), aClaim(more), now)).toMatchObject({ kind: "patch", path: "fast", isForPod });
  });

  test("tells the gateway what it needs to know, and says nothing where nothing was asked for", () => {
    const { annotations } = claimed(
      aPoolPod(onAppImage),
      aClaim({ privateTraffic: true, maskHost: "localhost", autoResume: true }),
    ).metadata;
    expect(annotations).toMatchObject({
      [annotationKeys.privateTraffic]: "true",
      [annotationKeys.maskHost]: "localhost",
      [annotationKeys.autoResume]: "true",
    });
    const { annotations: plain = {} } = claimed(aPoolPod(onAppImage), aClaim({ privateTraffic: false, autoResume: false })).metadata;
    for (const key of [annotationKeys.privateTraffic, annotationKeys.maskHost, annotationKeys.autoResume])
      expect(plain).not.toHaveProperty([key]);
  });

  test("makes the pod a running sandbox in one write, and leaves its containers alone", () => {
    const pod = aPoolPod(onAppImage);
    expect(path(planClaim(pod, aClaim(), now))).toBe("fast");
    const sandbox = claimed(pod, aClaim());
    expect([sandboxPhaseOf(sandbox), sandboxIdOf(sandbox), isClaimed(sandbox)]).toEqual(["running", "i1", true]);
    expect(sandbox.spec).toEqual(pod.spec);
    expect(sandbox.metadata.annotations).toMatchObject({
      [annotationKeys.sandboxId]: "i1",
      [annotationKeys.claimedAt]: "2026-01-01T10:00:00.250Z",
      [annotationKeys.startedAt]: "2026-01-01T10:00:00.250Z",
    });
  });

  test("leaves nothing for a waiting create to wait for", () => {
    expect(checkReady(claimed(aPoolPod(onAppImage), aClaim()), now)).toEqual({ kind: "satisfied" });
  });

  test("notes the containers, so that a crash right after it is seen", () => {
    expect(readInplaceUpdateState(claimed(aPoolPod(onAppImage), aClaim()))).toEqual({
      kind: "state",
      state: {
        phase: "completed",
        targetPodPhase: "running",
        updateTimestamp: "2026-01-01T10:00:00.250Z",
        stableContainerStatuses: { main: { containerID: "containerd://main-0", restartCount: 0 } },
      },
    });
  });

  test("W28: is there for the hundredth sandbox of a pod as for the first", () => {
    const recycled = aPoolPod({ ...onAppImage, use: 99, state: { phase: "completed", targetPodPhase: "idle" } });
    expect(path(planClaim(recycled, aClaim(), now))).toBe("fast");
  });
});

describe("a claim on the slow path", () => {
  test("names the images, written for this use of the pod, and makes the pod starting", () => {
    const pod = aPoolPod({ use: 4, state: { phase: "completed", targetPodPhase: "idle" } });
    expect(path(planClaim(pod, aClaim(), now))).toBe("slow");
    const sandbox = claimed(pod, aClaim());
    expect(sandboxPhaseOf(sandbox)).toBe("starting");
    expect(sandbox.spec.containers[0]?.image).toBe(pinned("app", 4));
    expect(sandbox.metadata.annotations).not.toHaveProperty(annotationKeys.startedAt);
    expect(readInplaceUpdateState(sandbox)).toMatchObject({
      state: {
        phase: "starting",
        targetPodPhase: "running",
        targetImages: { main: pinned("app", 4) },
        lastContainerStatuses: { main: { containerID: "containerd://main-0" } },
      },
    });
  });

  test("exchanges only the containers that differ", () => {
    const pod = aPoolPod({ images: { main: "app", side: "side" } });
    const sandbox = claimed(pod, aClaim({ images: targets({ main: "app", side: "other" }) }));
    expect(sandbox.spec.containers.map(({ image }) => image)).toEqual([pinned("app"), pinned("other")]);
    expect(readInplaceUpdateState(sandbox)).toMatchObject({ state: { targetImages: { side: pinned("other") } } });
  });

  test("leaves the container that is not exchanged for a later look: it is not ready before the pod is", () => {
    expect(checkReady(claimed(aPoolPod(), aClaim()), now)).toMatchObject({ kind: "waiting" });
  });
});

describe("a claim writes", () => {
  const everything = aClaim({
    team: "red",
    user: "ann",
    startupTimeoutMs: 90_000,
    idleTimeoutMs: 600_000,
    endTimeMs: now + 3_600_000,
    onTimeout: "pause",
    labels: { "example.com/job": "j1", constructor: "x" },
    annotations: { "example.com/note": "hello" },
    metadata: { purpose: "test", weird: 'q"uote' },
  });

  test("owner, limits, metadata, and what it brought along", () => {
    const { labels, annotations } = claimed(aPoolPod(onAppImage), everything).metadata;
    expect(labels).toMatchObject({
      [labelKeys.sandboxId]: "i1",
      [labelKeys.team]: "red",
      [labelKeys.user]: "ann",
      [labelKeys.sandboxPool]: "py",
      "example.com/job": "j1",
      constructor: "x",
    });
    expect(annotations).toMatchObject({
      [annotationKeys.startupTimeout]: "90",
      [annotationKeys.idleTimeout]: "600",
      [annotationKeys.endTime]: "2026-01-01T11:00:00.250Z",
      [annotationKeys.onTimeout]: "pause",
      [annotationKeys.sandboxMetadata]: '{"purpose":"test","weird":"q\\"uote"}',
      [annotationKeys.managedLabelKeys]: '["example.com/job","constructor"]',
      [annotationKeys.managedAnnotationKeys]: '["example.com/note"]',
      "example.com/note": "hello",
    });
  });

  test("nothing that was not asked for", () => {
    const { labels, annotations } = claimed(
      aPoolPod(onAppImage),
      aClaim({ idleTimeoutMs: 0, metadata: {}, labels: {}, annotations: {} }),
    ).metadata;
    expect(Object.keys(labels ?? {}).sort()).toEqual([labelKeys.sandboxId, labelKeys.sandboxPhase, labelKeys.sandboxPool]);
    expect(Object.keys(annotations ?? {}).sort()).toEqual(
      [
        annotationKeys.claimedAt,
        annotationKeys.inplaceUpdateState,
        annotationKeys.sandboxId,
        annotationKeys.startedAt,
        annotationKeys.useCount,
      ].sort(),
    );
  });

  test("W16: and takes the pod off the list for scale-down, on both paths", () => {
    for (const image of ["app", "idle"]) {
      const marked = aPoolPod({ images: { main: image }, annotations: { [annotationKeys.chosenToGo]: "2026-01-01T09:59:59Z" } });
      expect(claimed(marked, aClaim()).metadata.annotations).not.toHaveProperty(annotationKeys.chosenToGo);
    }
  });
});

describe("a claim is refused", () => {
  test.for<[string, PoolPodShape]>([
    ["not-idle", { phase: "running", id: "other" }],
    ["not-idle", { phase: "stopping", id: "other" }],
    ["not-ready", { ready: false }],
    ["not-fresh", { use: 1 }],
    ["terminating", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }],
  ])("W5: as %s by a pod that is not fit, which is an outcome and no error", ([code, shape]) => {
    const pod = aPoolPod({ ...onAppImage, ...shape });
    expect(path(planClaim(pod, aClaim(), now))).toBe(code);
  });

  test("W5: on the fast path as not ready by a pod that Kubernetes does not call Running", () => {
    expect(path(planClaim(aPoolPod({ ...onAppImage, status: { phase: "Pending" } }), aClaim(), now))).toBe("not-ready");
  });

  test("when it names a container that is not there, or no image", () => {
    const pod = aPoolPod(onAppImage);
    expect(planClaim(pod, aClaim({ images: targets({ nope: "app" }) }), now)).toMatchObject({ code: "container-not-found" });
    expect(planClaim(pod, aClaim({ images: {} }), now)).toMatchObject({ code: "target-image-required" });
  });

  test("W27: when a label or annotation of the caller is AgentBox's, whether it is on the pod or not", () => {
    const pod = aPoolPod(onAppImage);
    for (const key of [labelKeys.user, labelKeys.sandboxPhase, "agentbox.navix.sh/of-a-later-version"]) {
      const message = `the key "${key}" is reserved for AgentBox`;
      expect(planClaim(pod, aClaim({ labels: { [key]: "x" } }), now)).toEqual({ kind: "refused", code: "reserved-key", message });
      expect(planClaim(pod, aClaim({ annotations: { [key]: "x" } }), now)).toEqual({ kind: "refused", code: "reserved-key", message });
    }
  });

  test("when a label or annotation of the caller is the pod's own already, naming it", () => {
    const pod = aPoolPod({ ...onAppImage, labels: { app: "base" }, annotations: { "cni.example.com/ip": "10.0.0.7" } });
    expect(planClaim(pod, aClaim({ labels: { app: "mine" } }), now)).toEqual({
      kind: "refused",
      code: "key-taken",
      message: 'the label "app" is used by the pods of this pool',
    });
    expect(planClaim(pod, aClaim({ annotations: { "cni.example.com/ip": "x" } }), now)).toMatchObject({
      code: "key-taken",
      message: 'the annotation "cni.example.com/ip" is used by the pods of this pool',
    });
  });
});

describe("I1: of two claims on one pod", () => {
  test("the second is refused by the server, and by the rules when it looks again", () => {
    const pod = aPoolPod(onAppImage);
    const second = planClaim(pod, aClaim({ sandboxId: "i2" }), now);
    const taken = claimed(pod, aClaim());
    if (second.kind !== "patch") throw new Error(second.message);
    expect(() => patched(taken, second.patch)).toThrow("test failed at /metadata/resourceVersion");
    expect(path(planClaim(taken, aClaim({ sandboxId: "i2" }), now))).toBe("not-idle");
  });

  test("one that was decided before the pod changed in any way is refused", () => {
    const pod = aPoolPod(onAppImage);
    const plan = planClaim(pod, aClaim(), now);
    if (plan.kind !== "patch") throw new Error(plan.message);
    expect(() => patched(withStatus(pod, { podIP: "10.0.0.8" }), plan.patch)).toThrow("test failed");
  });
});

test("the path is fast exactly when no digest differs", () => {
  const image = fc.constantFrom("a", "b", "c");
  fc.assert(
    fc.property(fc.record({ main: image, side: image }), fc.record({ main: image, side: image }), fc.nat(50), (images, wanted, use) => {
      const pod = aPoolPod({ images, use, state: { phase: "completed", targetPodPhase: "idle" } });
      const plan = planClaim(pod, aClaim({ images: targets(wanted) }), now);
      expect(path(plan)).toBe(images.main === wanted.main && images.side === wanted.side ? "fast" : "slow");
    }),
  );
});
