import { describe, expect, test } from "vitest";
import type { NodeSelectorRequirement } from "#model/kubernetes.generated.ts";
import type { StoredPodSpec } from "#engines/embedded/stored-pod.ts";
import type { NodePod } from "../node-pod.ts";
import { placementOf } from "./placement.ts";

const labels = { "kubernetes.io/hostname": "node-1", "kubernetes.io/arch": "amd64", cores: "4" };

function pod(spec: Partial<StoredPodSpec>, metadata: object = {}): NodePod {
  return {
    metadata: { name: "a", namespace: "ns", uid: "u", ...metadata },
    spec: { containers: [], ...spec } as unknown as StoredPodSpec,
    status: {},
  };
}

function affine(operator: NodeSelectorRequirement["operator"], key: string, values: string[]): Partial<StoredPodSpec> {
  const nodeSelectorTerms = [{ matchExpressions: [{ key, operator, values }] }];
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } };
}

describe("a pod comes here", () => {
  test.each<[string, Partial<StoredPodSpec>]>([
    ["when it asks for nothing", {}],
    ["when its selector matches", { nodeSelector: { "kubernetes.io/arch": "amd64" } }],
    ["when its affinity matches: In", affine("In", "kubernetes.io/arch", ["arm64", "amd64"])],
    ["when its affinity matches: NotIn, and the label is missing", affine("NotIn", "gpu", ["yes"])],
    ["when its affinity matches: Exists", affine("Exists", "cores", [])],
    ["when its affinity matches: DoesNotExist", affine("DoesNotExist", "gpu", [])],
    ["when its affinity matches: Gt", affine("Gt", "cores", ["3"])],
    ["when its affinity matches: Lt", affine("Lt", "cores", ["5"])],
    ["when it only prefers others", { affinity: { podAntiAffinity: {} } }],
  ])("%s", (_, spec) => expect(placementOf(pod(spec), labels)).toEqual({ kind: "here" }));

  test("when it names this node by its name", () => {
    const nodeSelectorTerms = [{ matchFields: [{ key: "metadata.name", operator: "In" as const, values: ["node-1"] }] }];
    const spec = { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } };
    expect(placementOf(pod(spec), labels)).toEqual({ kind: "here" });
  });
});

describe("a pod goes nowhere", () => {
  test.each<[string, Partial<StoredPodSpec>]>([
    ["when its selector does not match", { nodeSelector: { "kubernetes.io/arch": "arm64" } }],
    ["when it excludes this node", affine("NotIn", "kubernetes.io/arch", ["amd64"])],
    ["when a label is missing", affine("Exists", "gpu", [])],
    ["when a label is there", affine("DoesNotExist", "cores", [])],
    ["when a number is too small", affine("Gt", "cores", ["4"])],
    ["when a number is too large", affine("Lt", "cores", ["4"])],
    ["when the operator is unknown", affine("Like" as "In", "cores", ["4"])],
    [
      "when its terms ask for nothing",
      { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{}] } } } },
    ],
    [
      "when it must keep away from other pods",
      { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "zone" }] } } },
    ],
    ["when it must be spread", { topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }] }],
  ])("%s", (_, spec) =>
    expect(placementOf(pod(spec), labels)).toMatchObject({ kind: "nowhere", message: expect.stringContaining("0/1 nodes") as string }),
  );
});

test("a pod that is going away needs no node", () => {
  expect(placementOf(pod({}, { deletionTimestamp: "2026-01-01T00:00:00Z" }), labels)).toEqual({ kind: "gated" });
});
