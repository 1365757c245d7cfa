import { describe, expect, test } from "vitest";
import { factsOf } from "../../../../../../test/world/rendered-container.ts";
import { hostnameOf, podSlot } from "./pod-slot.ts";

describe("the host name", () => {
  test.each([
    ["is the pod's name", { metadata: { name: "box" } }, "box"],
    ["is what the pod says", { spec: { hostname: "other" } }, "other"],
    ["is cut to what host names may be", { metadata: { name: `${"a".repeat(62)}-tail` } }, "a".repeat(62)],
  ])("%s", (_, written, name) => expect(hostnameOf(factsOf(written).pod)).toBe(name));
});

describe("the disk limit of the pod", () => {
  const limited = { name: "main", resources: { limits: { "ephemeral-storage": "1Gi" } } };

  test("is that of its containers together", () => {
    const { pod } = factsOf({ spec: { containers: [limited, { ...limited, name: "side" }] } });
    expect(podSlot(pod, 100).limits).toEqual({ pids: 100, ephemeralStorageBytes: 2 * 1024 ** 3 });
  });

  test("is none when one of them has none", () => {
    const { pod } = factsOf({ spec: { containers: [limited, { name: "side" }] } });
    expect(podSlot(pod, 100).limits).toEqual({ pids: 100 });
  });
});

test("the runtime class is handed on", () => {
  expect(podSlot(factsOf({ spec: { runtimeClassName: "runsc" } }).pod, 1)).toMatchObject({ runtimeClassName: "runsc" });
});
