import { describe, expect, test } from "vitest";
import { Checkpoints } from "./checkpoint.ts";
import { Leases, Namespaces } from "./core-kinds.ts";
import { allResourceTypes, findResourceType, resourceTypeOf } from "./kinds.ts";
import { Pods } from "./pod.ts";
import { resourceName } from "./resource.ts";
import { SandboxEnvs } from "./sandbox-env.ts";
import { SandboxPools } from "./sandbox-pool.ts";
import { SandboxTemplates } from "./sandbox-template.ts";
import { SandboxVolumes } from "./sandbox-volume.ts";

describe("finding a kind by what a user types", () => {
  test.each([
    ["sandboxpools", SandboxPools],
    ["sandboxpool", SandboxPools],
    ["SandboxPool", SandboxPools],
    ["sbp", SandboxPools],
    ["sbt", SandboxTemplates],
    ["sbe", SandboxEnvs],
    ["sbc", Checkpoints],
    ["sbv", SandboxVolumes],
    ["po", Pods],
    ["Pods", Pods],
    ["ns", Namespaces],
    ["sandboxpools.agents.navix.sh", SandboxPools],
    ["sbp.agents.navix.sh", SandboxPools],
    ["sandboxpools.v1alpha1.agents.navix.sh", SandboxPools],
    ["leases.coordination.k8s.io", Leases],
    ["lease.v1.coordination.k8s.io", Leases],
  ])("%s", (typed, type) => {
    expect(findResourceType(typed)).toBe(type);
  });

  test.each(["", "sandbox", "sandboxpoolses", "pods.agents.navix.sh", "sandboxpools.v2.agents.navix.sh", "agents.navix.sh"])(
    "%j is no kind",
    (typed) => {
      expect(findResourceType(typed)).toBeUndefined();
    },
  );
});

describe("finding a kind by what an object says of itself", () => {
  test("group, version and kind must all be right", () => {
    expect(resourceTypeOf("agents.navix.sh/v1alpha1", "SandboxPool")).toBe(SandboxPools);
    expect(resourceTypeOf("v1", "Pod")).toBe(Pods);
    expect(resourceTypeOf("coordination.k8s.io/v1", "Lease")).toBe(Leases);
    expect(resourceTypeOf("v1", "SandboxPool")).toBeUndefined();
    expect(resourceTypeOf("agents.navix.sh/v1", "SandboxPool")).toBeUndefined();
    expect(resourceTypeOf("agents.navix.sh/v1alpha1", "sandboxpool")).toBeUndefined();
  });
});

test("no name stands for two kinds", () => {
  const names = allResourceTypes.flatMap((type) => [type.plural, type.singular, ...type.shortNames]);
  expect(new Set(names).size).toBe(names.length);
});

test("every kind is found by its full name", () => {
  for (const type of allResourceTypes) expect(findResourceType(resourceName(type))).toBe(type);
});

test("our kinds are what the specification calls them", () => {
  const ours = [SandboxTemplates, SandboxPools, SandboxEnvs, Checkpoints, SandboxVolumes].map((type) => [
    resourceName(type),
    type.namespaced,
  ]);
  expect(ours).toEqual([
    ["sandboxtemplates.agents.navix.sh", false],
    ["sandboxpools.agents.navix.sh", true],
    ["sandboxenvs.agents.navix.sh", true],
    ["checkpoints.agents.navix.sh", true],
    ["sandboxvolumes.agents.navix.sh", true],
  ]);
});
