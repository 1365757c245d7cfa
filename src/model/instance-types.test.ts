import fc from "fast-check";
import { expect, test } from "vitest";
import { instanceTypeFault, multiplierFault, readInstanceTypes, resourcesOf } from "./instance-types.ts";
import { quantityNumber } from "./quantity.ts";

const small = `
resources: { limits: { cpu: "1", memory: 512Mi }, requests: { cpu: 100m, memory: 32Mi } }
maxMultiplier: 16
nodeSelector: { disk: ssd }
pricePerHour: 0.02
description: One core
`;

test("a type is read from YAML or JSON, with a multiplier range of its own or the usual one", () => {
  const { types, problems } = readInstanceTypes({ data: { small, tiny: '{"resources":{"limits":{"cpu":0.1}},"minMultiplier":2}' } });
  expect([...problems]).toEqual([]);
  expect(types.get("small")).toEqual({
    name: "small",
    resources: { limits: { cpu: "1", memory: "512Mi" }, requests: { cpu: "100m", memory: "32Mi" } },
    minMultiplier: 1,
    maxMultiplier: 16,
    nodeSelector: { disk: "ssd" },
    pricePerHour: 0.02,
    description: "One core",
  });
  expect(types.get("tiny")).toMatchObject({ minMultiplier: 2, maxMultiplier: 64 });
});

test.each([
  ["", "must be an object"],
  ["[1]", "must be an object"],
  ["{", "neither YAML nor JSON"],
  ["price: 3", "there is no field price"],
  ["description: x", "resources is needed"],
  ["resources: {}", "resources is empty"],
  ["resources: { claims: [] }", "resources.claims is not known"],
  ["resources: { limits: 3 }", "resources.limits must be an object"],
  ["resources: { limits: { cpu: many } }", "resources.limits.cpu must be a quantity"],
  ["resources: { limits: { cpu: -1 } }", "resources.limits.cpu must be a quantity"],
  ["resources: { limits: { cpu: 1 }, requests: { cpu: 2 } }", "must not be above its limit"],
  ["resources: { limits: { cpu: 1 } }\nminMultiplier: 0", "minMultiplier must be"],
  ["resources: { limits: { cpu: 1 } }\nminMultiplier: 3\nmaxMultiplier: 2", "must not be above maxMultiplier"],
  ["resources: { limits: { cpu: 1 } }\nmaxMultiplier: 1.5", "maxMultiplier must be"],
  ["resources: { limits: { cpu: 1 } }\nnodeSelector: { a: 1 }", "nodeSelector must be"],
  ["resources: { limits: { cpu: 1 } }\npricePerHour: -1", "pricePerHour must be"],
  ["resources: { limits: { cpu: 1 } }\ndescription: 7", "description must be"],
])("%j is left out with what is wrong with it, and the others stay", (text, problem) => {
  const read = readInstanceTypes({ data: { bad: text, small } });
  expect([...read.types.keys()]).toEqual(["small"]);
  expect(read.problems.get("bad")).toContain(problem);
  expect(instanceTypeFault(read, "bad")).toContain(problem);
});

test("no text makes the reading of the catalogue fail", () => {
  fc.assert(fc.property(fc.string(), (text) => void readInstanceTypes({ data: { x: text } })));
});

test("a name that is not in the catalogue is refused with the names that are", () => {
  const read = readInstanceTypes({ data: { small } });
  expect(instanceTypeFault(read, "small")).toBeUndefined();
  expect(instanceTypeFault(read, "smal")).toBe(
    'there is no instance type "smal": there are small; name one of the catalogue, or give inlineResources instead',
  );
  expect(instanceTypeFault(readInstanceTypes({}), "x")).toContain("agentbox-instance-types has none");
});

test("a multiplier outside the range is refused with the range", () => {
  const type = readInstanceTypes({ data: { small } }).types.get("small");
  if (type === undefined) throw new Error("not read");
  expect([multiplierFault(type, 1), multiplierFault(type, 16)]).toEqual([undefined, undefined]);
  expect([0, 17, 1.5].map((by) => multiplierFault(type, by))).toEqual(
    ["0", "17", "1.5"].map((by) => `instance type small takes a multiplier from 1 to 16, not ${by}`),
  );
});

test("resources grow in proportion to the multiplier", () => {
  const type = readInstanceTypes({ data: { small } }).types.get("small");
  if (type === undefined) throw new Error("not read");
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1000 }), (by) => {
      const { limits, requests } = resourcesOf(type, by);
      expect(quantityNumber(limits?.["memory"])).toBe(by * 512 * 2 ** 20);
      expect(quantityNumber(requests?.["cpu"])).toBeCloseTo(by * 0.1);
    }),
  );
});
