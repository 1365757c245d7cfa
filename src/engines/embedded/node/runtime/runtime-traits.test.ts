import { expect, test } from "vitest";
import type { ContainerSpec } from "./spec/container-spec.ts";
import { runtimeTraits } from "./runtime-traits.ts";

test("runtime classes are known by name, others are refused with those that there are", () => {
  expect(runtimeTraits("runc").command).toBe("runc");
  expect(runtimeTraits("runsc").install).toContain("gvisor");
  expect(() => runtimeTraits("kata")).toThrow('there is no runtime class "kata" on this node; there are runc, crun, runsc');
});

test("gVisor makes its own user namespace and needs no filter of system calls", () => {
  const spec = {
    linux: {
      namespaces: [
        { type: "user", path: "/u" },
        { type: "network", path: "/n" },
      ],
      seccomp: {},
      maskedPaths: ["/x"],
    },
  } as unknown as ContainerSpec; // Only the parts that differ.
  expect(runtimeTraits("runsc").adapt(spec)).toEqual({
    linux: { namespaces: [{ type: "user" }, { type: "network", path: "/n" }], maskedPaths: ["/x"] },
  });
  expect(runtimeTraits("runc").adapt(spec)).toBe(spec);
});
