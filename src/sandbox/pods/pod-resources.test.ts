import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ResourceRequirements } from "#model/pod.ts";
import { aPoolPod } from "../../../test/world/pool-pods.ts";
import { podResources } from "./pod-resources.ts";

function resources(...all: readonly ResourceRequirements[]): ReturnType<typeof podResources> {
  return podResources(aPoolPod({ spec: { containers: all.map((one, index) => ({ name: `c${index}`, resources: one })) } }));
}

describe("the size of a sandbox", () => {
  test("is the sum over its containers", () => {
    expect(resources({ limits: { cpu: "500m", memory: "512Mi" } }, { limits: { cpu: "1", memory: "1.5Gi" } })).toEqual({
      cpu: "1500m",
      memory: "2Gi",
    });
  });

  test("is what a container may use, or what it asked for where nothing limits it", () => {
    expect(resources({ limits: { cpu: "2" }, requests: { cpu: "1", memory: "64Mi" } })).toEqual({ cpu: "2", memory: "64Mi" });
  });

  test("leaves out what no container states", () => {
    expect(resources({})).toEqual({});
    expect(podResources(aPoolPod())).toEqual({});
    expect(resources({ limits: { cpu: "lots" } })).toEqual({});
  });

  test("is written in the largest unit that is exact", () => {
    expect(["1073741824", "1048577", "1536Ki", "1000k", "0"].map((memory) => resources({ limits: { memory } }).memory)).toEqual([
      "1Gi",
      "1048577",
      "1536Ki",
      "1000000",
      "0",
    ]);
    expect(["0.1", "100m", 2, "2.0", "1e3m"].map((cpu) => resources({ limits: { cpu } }).cpu)).toEqual([
      "100m",
      "100m",
      "2",
      "2",
      undefined,
    ]);
  });

  test("does not lose thousandths to floating point", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 4000 }), { minLength: 1, maxLength: 5 }), (thousandths) => {
        const total = thousandths.reduce((sum, one) => sum + one, 0);
        const { cpu } = resources(...thousandths.map((one) => ({ limits: { cpu: `${one}m` } })));
        expect(cpu).toBe(total % 1000 === 0 ? String(total / 1000) : `${total}m`);
      }),
    );
  });
});
