import * as fc from "fast-check";
import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { describe, expect, expectTypeOf, test } from "vitest";
import { fallingVersions } from "../../test/contract/bad-templates.ts";
import { badObjects } from "../../test/contract/bad-objects.ts";
import { goodObjects } from "../../test/contract/good-objects.ts";
import { arbitraryValue } from "../../test/world/arbitrary-object.ts";
import { checkpointKind, checkpointSchema } from "./checkpoint.ts";
import type { conditionSchema, labelSelectorSchema, probeSchema, resourceRequirements } from "./common-schemas.ts";
import { scaleDownDefaults, scaleUpDefaults, type EnvAutoscalingGroup } from "./env-autoscaling.ts";
import type { Frozen } from "./frozen.ts";
import { customKinds } from "./kinds.ts";
import type { Condition, LabelSelector } from "./meta.ts";
import type { Probe, ResourceRequirements } from "./pod.ts";
import { sandboxEnvKind, sandboxEnvSchema } from "./sandbox-env.ts";
import { sandboxPoolKind, sandboxPoolSchema } from "./sandbox-pool.ts";
import { sandboxTemplateKind, sandboxTemplateSchema } from "./sandbox-template.ts";
import { sandboxVolumeKind, sandboxVolumeSchema } from "./sandbox-volume.ts";
import type { CustomKind, StructuralSchema } from "./structural-schema.ts";

const ours: readonly (readonly [string, CustomKind, TSchema])[] = [
  ["SandboxTemplate", sandboxTemplateKind, sandboxTemplateSchema],
  ["SandboxPool", sandboxPoolKind, sandboxPoolSchema],
  ["SandboxEnv", sandboxEnvKind, sandboxEnvSchema],
  ["Checkpoint", checkpointKind, checkpointSchema],
  ["SandboxVolume", sandboxVolumeKind, sandboxVolumeSchema],
];

const validators = new Map(ours.map(([kind, , schema]) => [kind, Compile(schema)]));

describe.each(ours)("%s", (_name, kind, schema) => {
  const validator = Compile(schema);

  test("what its definition allows, its validator allows, and JSON keeps", () => {
    fc.assert(
      fc.property(arbitraryValue(kind.schema), (object) => {
        expect([...validator.Errors(object)]).toEqual([]);
        expect(JSON.parse(JSON.stringify(object))).toEqual(object);
      }),
      { numRuns: 200 },
    );
  });

  test("without a field that it requires, it is refused", () => {
    fc.assert(
      fc.property(arbitraryValue(kind.schema), fc.nat(), (object, choice) => {
        const required = requiredFields(kind.schema, object, []);
        const path = required[choice % required.length] ?? [];
        expect({ path, passes: validator.Check(without(object, path)) }).toEqual({ path, passes: false });
      }),
      { numRuns: 200 },
    );
  });
});

describe("the corpora", () => {
  test.each(goodObjects.map((good) => [good.title, good] as const))("%s passes the validator", (_title, { type, object }) => {
    const withDefaults = validators.get(type.kind)?.Default(withoutNulls(object));
    expect(validators.get(type.kind)?.Check(withDefaults)).toBe(true);
  });

  const refusedBySchema = badObjects.filter(({ field, reason }) => !field.startsWith("metadata") && reason !== "FieldValueDuplicate");
  const refusedByRule = refusedBySchema.filter(({ type, object }) => validators.get(type.kind)?.Check(withMode(object)) === true);

  test("what the validator lets through of the bad ones, a CEL rule refuses", () => {
    expect(refusedByRule.map(({ title }) => title)).toEqual([
      "template with a probe of no sort",
      "template with a probe of two sorts",
      ...fallingVersions.map(([from, to]) => `changed template that goes from version ${from} to ${to}`),
      "template that changes and keeps its version",
      "template that changes in a field that no schema knows",
      "template that loses its version",
      "template that changes who sees it and keeps its version",
      "pool with nothing to make pods from",
      "env with a default instance type without a multiplier",
      "env with a default multiplier of nothing",
      "env with a member pool's runtime with an empty probe",
      "env with a member's instance type without a multiplier",
      "env with a member's instance type times nothing",
      "env with a member's multiplier of nothing",
      "env with a member's minimum above its maximum",
      "env with a group without members",
      "env with a group and no clusters",
      "env with a group's minimum above its maximum",
      "env with a group that doubles without limit",
      "checkpoint that changes its sandbox",
      "volume that changes its name",
      "volume that changes its size",
    ]);
  });

  test("no two objects of a corpus have the same title", () => {
    for (const corpus of [badObjects, goodObjects]) expect(new Set(corpus.map(({ title }) => title)).size).toBe(corpus.length);
  });
});

test("defaults are those of the specification", () => {
  expect(Object.fromEntries(customKinds.flatMap((kind) => defaultsIn(kind.schema, kind.resource.kind)))).toEqual({
    "SandboxTemplate.spec.runtimes[].protocol": "TCP",
    "SandboxTemplate.spec.runtimes[].readinessProbe.grpc.service": "",
    "SandboxPool.spec.podCreationImagePolicy": "IdleImage",
    "SandboxPool.spec.runtimes[].protocol": "TCP",
    "SandboxPool.spec.runtimes[].readinessProbe.grpc.service": "",
    "SandboxEnv.spec.mode": "WarmPool",
    "SandboxEnv.spec.clusters[].members[].spec.podCreationImagePolicy": "IdleImage",
    "SandboxEnv.spec.clusters[].members[].spec.runtimes[].protocol": "TCP",
    "SandboxEnv.spec.clusters[].members[].spec.runtimes[].readinessProbe.grpc.service": "",
    "SandboxEnv.spec.clusters[].members[].config": {},
    "SandboxEnv.spec.clusters[].members[].config.scalingGroup": "default",
    "SandboxEnv.spec.autoscaling.groups[].enabled": false,
    "SandboxEnv.spec.autoscaling.groups[].minReplicas": 0,
    "SandboxEnv.spec.autoscaling.groups[].scaleUpPolicy": {},
    "SandboxEnv.spec.autoscaling.groups[].scaleUpPolicy.mode": "Default",
    "SandboxEnv.spec.autoscaling.groups[].scaleUpPolicy.cooldownSeconds": 30,
    "SandboxEnv.spec.autoscaling.groups[].scaleUpPolicy.idleThresholdSeconds": 30,
    "SandboxEnv.spec.autoscaling.groups[].scaleUpPolicy.idleZeroQuietWindowSeconds": 300,
    "SandboxEnv.spec.autoscaling.groups[].scaleUpPolicy.saturationCooldownSeconds": 60,
    "SandboxEnv.spec.autoscaling.groups[].scaleDownPolicy": {},
    "SandboxEnv.spec.autoscaling.groups[].scaleDownPolicy.idleTimeoutSeconds": 300,
    "SandboxEnv.spec.autoscaling.groups[].scaleDownPolicy.stabilizationSeconds": 60,
    "SandboxEnv.spec.autoscaling.groups[].scaleDownPolicy.protectionWindowSeconds": 10,
    "Checkpoint.spec.keepRunning": true,
  });
});

test("types of Kubernetes are the same by schema and by hand", () => {
  expectTypeOf<Frozen<Static<typeof conditionSchema>>>().toEqualTypeOf<Condition>();
  expectTypeOf<Frozen<Static<typeof labelSelectorSchema>>>().toEqualTypeOf<LabelSelector>();
  expectTypeOf<Frozen<Static<typeof probeSchema>>>().toExtend<Omit<Probe, "httpGet">>();
  // Our schema takes any text as the scheme, as the OpenAPI of a CustomResourceDefinition for pods would.
  expectTypeOf<NonNullable<Frozen<Static<typeof probeSchema>>["httpGet"]>>().toExtend<Omit<NonNullable<Probe["httpGet"]>, "scheme">>();
  expectTypeOf<Frozen<Static<ReturnType<typeof resourceRequirements>>>>().toExtend<ResourceRequirements>();
  expectTypeOf(scaleUpDefaults).toExtend<Required<NonNullable<EnvAutoscalingGroup["scaleUpPolicy"]>>>();
  expectTypeOf(scaleDownDefaults).toExtend<Required<NonNullable<EnvAutoscalingGroup["scaleDownPolicy"]>>>();
});

type Path = readonly (string | number)[];

/** Paths of all required fields that this value has. */
function requiredFields(schema: StructuralSchema, value: unknown, path: Path): Path[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => requiredFields(schema.items ?? {}, item, path.concat(index)));
  if (typeof value !== "object" || value === null) return [];
  const own = (schema.required ?? []).map((name) => path.concat(name));
  const below = Object.entries(value).flatMap(([name, field]) => {
    const property = schema.properties?.[name];
    return property === undefined ? [] : requiredFields(property, field, path.concat(name));
  });
  return [...own, ...below];
}

function without(value: unknown, path: Path): unknown {
  const [first, ...rest] = path;
  if (Array.isArray(value)) return value.map((item: unknown, index) => (index === first ? without(item, rest) : item));
  const entries = Object.entries(value ?? {}).filter(([name]) => rest.length > 0 || name !== first);
  return Object.fromEntries(entries.map(([name, field]: [string, unknown]) => [name, name === first ? without(field, rest) : field]));
}

/** The servers drop null where it is not a value. */
function withoutNulls(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_key, field: unknown) => (field === null ? undefined : field)));
}

/** The servers fill in the mode before they look at the object. */
function withMode(object: { readonly spec?: unknown }): unknown {
  const { spec } = object;
  return typeof spec === "object" && spec !== null ? { ...object, spec: { mode: "WarmPool", ...spec } } : object;
}

function defaultsIn(schema: StructuralSchema, path: string): [string, unknown][] {
  const own: [string, unknown][] = schema.default === undefined ? [] : [[path, schema.default]];
  const below = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => defaultsIn(property, `${path}.${name}`));
  return [...own, ...below, ...(schema.items === undefined ? [] : defaultsIn(schema.items, `${path}[]`))];
}
