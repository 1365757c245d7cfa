import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotationKeys } from "#model/keys.ts";
import type { Pod, PodSpec } from "#model/pod.ts";
import { aPoolPod, digestOf, pinned, type PoolPodShape } from "../../../test/world/pool-pods.ts";
import type { TargetImages } from "#sandbox/images/images.ts";
import { fateAfterUse, nextUse, type RecyclingOptions } from "./plan-fate.ts";

const waiting: TargetImages = {
  main: { image: "registry.invalid/idle:1", digest: digestOf("idle") },
  side: { image: "registry.invalid/side:1", digest: digestOf("side") },
};

function fate(shape: PoolPodShape = {}, more: Partial<RecyclingOptions> = {}): ReturnType<typeof fateAfterUse> {
  return fateAfterUse(aPoolPod({ phase: "running", id: "i1", images: { main: "app" }, ...shape }), { waiting, maxUses: 100, ...more });
}

function reasons(shape: PoolPodShape = {}, more: Partial<RecyclingOptions> = {}): readonly string[] {
  const result = fate(shape, more);
  return result.kind === "delete" ? result.reasons : [];
}

function withVolume(volume: Record<string, unknown>, mount: Record<string, unknown> | null = {}): Partial<PodSpec> {
  const volumeMounts = mount === null ? [] : [{ name: "data", mountPath: "/data", ...mount }];
  return { containers: [{ name: "main", image: pinned("app"), volumeMounts }], volumes: [{ name: "data", ...volume }] };
}

describe("a pod after its use", () => {
  test.each(["Auto", "Always"])(
    "is replaced when its sandbox had volumes, with the policy %s: an exchange would leave them mounted",
    (policy) => {
      const annotations = { [annotationKeys.volumeMounts]: "[]", [annotationKeys.recyclePolicy]: policy };
      expect(reasons({ annotations })).toEqual(["its sandbox had volumes mounted"]);
    },
  );

  test("goes back to its waiting images, written for the next use", () => {
    expect(fate({ use: 4 })).toEqual({ kind: "recycle", images: { main: pinned("idle", 5) } });
    expect(nextUse(aPoolPod({ use: 4 }))).toBe(5);
  });

  test("W28: goes back to the run image where pods wait on it, as a new container", () => {
    const waitsOnApp = { main: { image: "registry.invalid/app:1", digest: digestOf("app") } };
    expect(fate({ use: 4 }, { waiting: waitsOnApp })).toEqual({ kind: "recycle", images: { main: pinned("app", 5) } });
  });

  test("W26: gets new side containers too, although their image is the same", () => {
    expect(fate({ images: { main: "app", side: "side" } })).toEqual({
      kind: "recycle",
      images: { main: pinned("idle", 1), side: pinned("side", 1) },
    });
  });

  test("never gets an image text that it had before", () => {
    fc.assert(
      fc.property(fc.nat(90), fc.constantFrom("idle", "app"), (use, image) => {
        const pod = aPoolPod({ phase: "running", id: "i1", images: { main: image }, use });
        const result = fateAfterUse(pod, { waiting, maxUses: 100 });
        const seen = Array.from({ length: use + 1 }, (_, earlier) => [pinned("idle", earlier), pinned("app", earlier)]).flat();
        expect(result.kind === "recycle" && seen.includes(result.images["main"] ?? "")).toBe(false);
      }),
    );
  });
});

describe("W26: a pod is replaced", () => {
  test.for<[string, Partial<PodSpec>, string]>([
    ["an emptyDir that its user could write to", withVolume({ emptyDir: {} }), "volume data can be written to"],
    ["a claim on a disk", withVolume({ persistentVolumeClaim: { claimName: "c" } }), "volume data can be written to"],
    ["a folder of its node", withVolume({ hostPath: { path: "/x" } }), "volume data can be written to"],
    ["a volume of a sort that we do not know", withVolume({ somethingNew: {} }), "volume data can be written to"],
    [
      "a block device, even one that is also mounted read-only",
      {
        containers: [{ name: "main", image: pinned("app"), volumeDevices: [{ name: "data", devicePath: "/dev/x" }] }],
        volumes: [{ name: "data", persistentVolumeClaim: { claimName: "c" } }],
      },
      "volume data can be written to",
    ],
    [
      "processes that outlive their container",
      { shareProcessNamespace: true },
      "processes outlive their container: shareProcessNamespace is set",
    ],
    [
      "an init container that stays",
      { initContainers: [{ name: "proxy", image: "p", restartPolicy: "Always" }] },
      "container proxy would go on running",
    ],
    [
      "a container that somebody put in to look around",
      { ephemeralContainers: [{ name: "debug" }] },
      "container debug would go on running",
    ],
  ])("when it has %s", ([, spec, reason]) => {
    expect(reasons({ spec })).toEqual([reason]);
  });

  test("when a side container's digest is not known, so that it cannot be exchanged", () => {
    expect(reasons({ images: { main: "app", helper: "x" } })).toEqual(["container helper would go on running"]);
  });

  test("when one of its containers may write what the others may only read", () => {
    const mount = { name: "data", mountPath: "/data" };
    const containers = [
      { name: "main", image: pinned("app"), volumeMounts: [{ ...mount, readOnly: true }] },
      { name: "side", image: pinned("side"), volumeMounts: [mount] },
    ];
    expect(reasons({ spec: { containers, volumes: [{ name: "data", emptyDir: {} }] } })).toEqual(["volume data can be written to"]);
  });

  test.for<[string, Partial<PodSpec>]>([
    ["configuration", withVolume({ configMap: { name: "c" } })],
    ["secrets", withVolume({ secret: { secretName: "s" } })],
    ["the daemon as an image", withVolume({ image: { reference: "r" } })],
    ["a claim that is read-only", withVolume({ persistentVolumeClaim: { claimName: "c", readOnly: true } })],
    ["an emptyDir that only init containers write", withVolume({ emptyDir: {} }, { readOnly: true })],
    ["a volume that nobody mounts", withVolume({ emptyDir: {} }, null)],
    ["init containers that have ended", { initContainers: [{ name: "copy", image: "c" }] }],
  ])("not for %s", ([, spec]) => {
    expect(reasons({ spec })).toEqual([]);
  });

  test("not when its template says that what is shared is safe", () => {
    const safe = { annotations: { [annotationKeys.recyclePolicy]: "Always" } };
    const unsafe = { ...withVolume({ emptyDir: {} }), shareProcessNamespace: true };
    expect(reasons({ spec: unsafe })).toHaveLength(2);
    expect(fate({ spec: unsafe, ...safe })).toEqual({ kind: "recycle", images: { main: pinned("idle", 1) } });
    expect(fate({ images: { main: "app", helper: "x" }, ...safe })).toEqual({ kind: "recycle", images: { main: pinned("idle", 1) } });
  });

  test("always when its template wants so", () => {
    expect(reasons({ annotations: { [annotationKeys.recyclePolicy]: "Never" } })).toEqual([
      "the template wants a new pod for every sandbox",
    ]);
  });

  test("as if nothing was said when the policy is no word that we know", () => {
    expect(reasons({ annotations: { [annotationKeys.recyclePolicy]: "always" }, spec: { shareProcessNamespace: true } })).toHaveLength(1);
  });
});

describe("a pod is worn out", () => {
  test("after as many sandboxes as the control plane says", () => {
    expect(reasons({ use: 98 })).toEqual([]);
    expect(reasons({ use: 99 })).toEqual(["the pod has carried 100 sandboxes"]);
    expect(reasons({ use: 0 }, { maxUses: 1 })).toEqual(["the pod has carried 1 sandboxes"]);
  });

  test("or as its template says, more or fewer", () => {
    expect(reasons({ use: 2, annotations: { [annotationKeys.maxUses]: "3" } })).toEqual(["the pod has carried 3 sandboxes"]);
    expect(reasons({ use: 200, annotations: { [annotationKeys.maxUses]: "1000" } })).toEqual([]);
    expect(reasons({ use: 99, annotations: { [annotationKeys.maxUses]: "lots" } })).toHaveLength(1);
  });

  test.for<[string, Pod]>([
    ["is being deleted", aPoolPod({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } })],
    ["has failed", aPoolPod({ status: { phase: "Failed", reason: "Evicted" } })],
    ["has a use count that is no number", aPoolPod({ annotations: { [annotationKeys.useCount]: "x" } })],
  ])("when it %s, whatever its template says", ([, pod]) => {
    const safe = {
      ...pod,
      metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, [annotationKeys.recyclePolicy]: "Always" } },
    };
    expect(fateAfterUse(safe, { waiting, maxUses: 100 }).kind).toBe("delete");
  });

  test("when its pool has another template by now", () => {
    const annotations = { [annotationKeys.templateHash]: "old" };
    expect(reasons({ annotations }, { templateHash: "new" })).toEqual(["the template has changed"]);
    expect(reasons({ annotations }, { templateHash: "old" })).toEqual([]);
    expect(reasons({ annotations })).toEqual([]);
  });

  test("when nobody knows the digest of the image that it would wait on: a release never fails for a registry", () => {
    expect(reasons({}, { waiting: {} })).toContain("the digest of the waiting image is not known");
    expect(reasons({ annotations: { [annotationKeys.recyclePolicy]: "Always" } }, { waiting: {} })).toHaveLength(1);
  });
});
