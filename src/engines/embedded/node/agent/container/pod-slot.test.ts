import { describe, expect, test } from "vitest";
import { annotationKeys } from "#model/keys.ts";
import { factsOf } from "../../../../../../test/world/rendered-container.ts";
import type { ResourceRequirements } from "#model/pod.ts";
import type { StoredContainer } from "#engines/embedded/stored-pod.ts";
import { hostnameOf, podSlot } from "./pod-slot.ts";

describe("the host name", () => {
  test.each([
    ["is the pod's name", { metadata: { name: "box" } }, "box"],
    ["is what the pod says", { spec: { hostname: "other" } }, "other"],
    ["is cut to what host names may be", { metadata: { name: `${"a".repeat(62)}-tail` } }, "a".repeat(62)],
  ])("%s", (_, written, name) => expect(hostnameOf(factsOf(written).pod)).toBe(name));
});

const usual = { pids: 100, ephemeralStorageBytes: 5 * 1024 ** 3 };

describe("the disk limit of the pod", () => {
  const silent = { name: "main", resources: {}, terminationMessagePolicy: "File" } as const;
  const limited = { ...silent, resources: { limits: { "ephemeral-storage": "1Gi" } } };

  test.each([
    ["is that of its containers together", [limited, { ...limited, name: "side" }], 2],
    ["is the node's own for a container that states none", [limited, { ...silent, name: "side" }], 6],
  ])("%s", (_, containers, gibibytes) => {
    const { limits } = podSlot(factsOf({ spec: { containers } }).pod, usual);
    expect(limits).toMatchObject({ pids: 100, ephemeralStorageBytes: gibibytes * 1024 ** 3 });
  });
});

describe("the pod's weight", () => {
  const asking = (resources: ResourceRequirements): StoredContainer => ({ name: "main", terminationMessagePolicy: "File", resources });
  test.each([
    ["is what its containers request together", [asking({ requests: { cpu: "250m" } }), asking({ requests: { cpu: 1 } })], 1280],
    ["is the limit where nothing is requested", [asking({ limits: { cpu: "2" } })], 2048],
    ["is the request and not the limit where there are both", [asking({ requests: { cpu: "500m" }, limits: { cpu: "2" } })], 512],
    ["is the smallest for a pod that asks for nothing", [asking({})], 2],
  ])("%s", (_, containers, shares) => {
    expect(podSlot(factsOf({ spec: { containers } }).pod, usual).limits.cpuShares).toBe(shares);
  });
});

describe("where the pod may connect to", () => {
  const egressOf = (annotations: Record<string, string>): unknown => podSlot(factsOf({ metadata: { annotations } }).pod, usual).egress;

  test("is what its annotation says", () => {
    expect(egressOf({ [annotationKeys.egressPolicy]: '{"internet":false,"allow":["1.1.1.1"]}' })).toEqual({
      internet: false,
      allow: ["1.1.1.1"],
      deny: [],
    });
    expect(egressOf({})).toBeUndefined();
  });

  test("is nowhere when what it says cannot be read", () => {
    expect(egressOf({ [annotationKeys.egressPolicy]: "internet" })).toEqual({ internet: false, allow: [], deny: [] });
  });
});

test("the runtime class is handed on", () => {
  expect(podSlot(factsOf({ spec: { runtimeClassName: "runsc" } }).pod, usual)).toMatchObject({ runtimeClassName: "runsc" });
});
