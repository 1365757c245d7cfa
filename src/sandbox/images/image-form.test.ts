import { describe, expect, test } from "vitest";
import type { ContainerState, Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { digestOf, nodeCatchesUp } from "../../../test/world/pool-pods.ts";
import { planClaim } from "#life/claim/plan-claim.ts";
import { hasPlainImages, isFormRefused } from "./image-form.ts";
import { fateAfterUse } from "#life/recycle/plan-fate.ts";
import { renderPod } from "#sandbox/pods/render-pod.ts";

function aPod(imageForm?: "Digest"): Pod {
  const pool: SandboxPool = { metadata: { namespace: "ns", name: "py", uid: "u" }, spec: { replicas: 1 } };
  const template = {
    podCreationImagePolicy: "PoolDefaultImage",
    template: { spec: { containers: [{ name: "main", image: "r.invalid/app:1" }] } },
  } as const;
  const digests = { "r.invalid/app:1": digestOf("app") };
  const result = renderPod({ pool, template, name: "py-a", digests, publicKey: "a2V5", imageForm });
  if (result.kind !== "pod") throw new Error(JSON.stringify(result));
  return result.pod;
}

function waiting(pod: Pod, state: ContainerState["waiting"]): Pod {
  const status = {
    name: "main",
    image: "",
    imageID: "",
    ready: false,
    restartCount: 0,
    state: state === undefined ? {} : { waiting: state },
  };
  return { ...pod, status: { phase: "Pending", containerStatuses: [status] } };
}

describe("a node that refuses a tag beside a digest", () => {
  test.each([
    { reason: "InvalidImageName", message: 'Failed to apply default image tag "r.invalid/app:1-u0@sha256:…": invalid reference format' },
    { reason: "ErrImagePull", message: "Docker references with both a tag and digest are currently not supported" },
    { reason: "ImagePullBackOff", message: 'Back-off pulling image "r.invalid/app:1-u0@sha256:…": ErrImagePull: invalid reference format' },
  ])("is recognised by what it says: %o", (state) => {
    expect(isFormRefused(waiting(aPod(), state))).toBe(true);
    expect(isFormRefused(waiting(aPod("Digest"), state))).toBe(false);
  });

  test.each([
    { reason: "ErrImagePull", message: "rpc error: not found" },
    { reason: "ImagePullBackOff", message: "Back-off pulling image" },
    { reason: "ContainerCreating" },
    undefined,
  ])("is not one that has other troubles: %o", (state) => {
    expect(isFormRefused(waiting(aPod(), state))).toBe(false);
  });
});

describe("where images are written with their digest alone", () => {
  const targets = { main: { image: "r.invalid/app:1", digest: digestOf("app") } };

  test("pods are replaced after their use, because they cannot be exchanged twice", () => {
    const pod = aPod("Digest");
    expect(pod.spec.containers[0]?.image).toBe(`r.invalid/app@${digestOf("app")}`);
    expect([hasPlainImages(pod), hasPlainImages(aPod())]).toEqual([true, false]);
    expect(fateAfterUse(pod, { waiting: targets, maxUses: 10 })).toMatchObject({ kind: "delete" });
    expect(fateAfterUse(aPod(), { waiting: targets, maxUses: 10 })).toMatchObject({ kind: "recycle" });
  });

  test("a claim for another image writes it so too", () => {
    const made = aPod("Digest");
    const { status, ...reported } = nodeCatchesUp({ ...made, metadata: { ...made.metadata, uid: "u", resourceVersion: "1" } });
    const idle = {
      ...reported,
      status: { ...status, phase: "Running", podIP: "10.0.0.1", conditions: [{ type: "Ready", status: "True" }] },
    } as const;
    const images = { main: { image: "r.invalid/other:2", digest: digestOf("other") } };
    const plan = planClaim(idle, { sandboxId: "sb-1", images }, 0);
    expect(plan).toMatchObject({ kind: "patch", path: "slow" });
    expect(JSON.stringify(plan)).toContain(`r.invalid/other@${digestOf("other")}`);
  });
});
