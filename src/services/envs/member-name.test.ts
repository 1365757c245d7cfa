import { expect, test } from "vitest";
import type { EnvClusterMemberConfig } from "#model/env-member.ts";
import { derivedMemberName } from "./member-name.ts";

test.each<[EnvClusterMemberConfig, string]>([
  [{}, "py-default"],
  [{ inlineResources: { limits: { cpu: 2, memory: "4Gi" } } }, "py-2c4gi"],
  [{ inlineResources: { limits: { cpu: "500m", memory: "512Mi" } } }, "py-500m-512mi"],
  [{ inlineResources: { requests: { memory: "1Gi" } } }, "py-1gi"],
  [{ inlineResources: { requests: { cpu: "1" }, limits: { cpu: "1.5" } } }, "py-1-5c"],
  [{ instanceType: "Small_A", multiplier: 1 }, "py-small-a"],
  [{ instanceType: "small", multiplier: 4, inlineResources: { limits: { cpu: 9 } } }, "py-small-x4"],
])("a member of %j is called %s", (config, name) => {
  expect(derivedMemberName("py", config, new Set())).toBe(name);
});

test("a name that is taken gets a number", () => {
  expect(derivedMemberName("py", {}, new Set(["py-default", "py-default-2"]))).toBe("py-default-3");
});
