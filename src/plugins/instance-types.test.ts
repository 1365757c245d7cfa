import { expect, test } from "vitest";
import { readInstanceTypes } from "#model/instance-types.ts";
import { annotationKeys } from "#model/keys.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { instanceTypesPlugin } from "./instance-types.ts";

const catalogue = readInstanceTypes({ data: { small: "{resources: {limits: {cpu: 1}}, maxMultiplier: 4}", bad: "x" } });
const plugin = instanceTypesPlugin(() => catalogue);

function aPool(overrides?: string): SandboxPool {
  return {
    metadata: { name: "py", ...(overrides !== undefined && { annotations: { [annotationKeys.overrides]: overrides } }) },
    spec: { replicas: 1 },
  };
}

test.each([
  undefined,
  "{}",
  "null",
  "no JSON",
  '{"instanceType":""}',
  '{"instanceType":"small"}',
  '{"instanceType":"small","multiplier":4}',
])("a pool made with %s is admitted", async (overrides) => {
  expect(await plugin.preCreatePool?.(aPool(overrides), new AbortController().signal)).toMatchObject({
    object: { metadata: { name: "py" } },
  });
});

test.each([
  [
    '{"instanceType":"large","multiplier":1}',
    'there is no instance type "large": there are small; name one of the catalogue, or give inlineResources instead',
  ],
  ['{"instanceType":"bad","multiplier":1}', "instance type bad cannot be used: it must be an object"],
  ['{"instanceType":"small","multiplier":5}', "instance type small takes a multiplier from 1 to 4, not 5"],
])("a pool made with %s is refused", async (overrides, message) => {
  expect(await plugin.preCreatePool?.(aPool(overrides), new AbortController().signal)).toMatchObject({
    refusal: { kind: "InvalidSpec", message: expect.stringContaining(message) as string },
  });
});
