import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { EnvAutoscalingGroup } from "#model/env-autoscaling.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { aMember, type EnvShape, shellEnv, shellTemplate, someInstanceTypes } from "../../../test/world/env-objects.ts";
import { checkEnv, type EnvLookups } from "./check-env.ts";

const here: EnvLookups = {
  clusterID: "local",
  template: (name) => (name === "shell" ? shellTemplate() : undefined),
  instanceTypes: someInstanceTypes,
  pool: () => undefined,
  envsWithMember: () => [],
};

const problems = (shape: EnvShape, lookups: Partial<EnvLookups> = {}) =>
  checkEnv(shellEnv(shape), { ...here, ...lookups }).map(({ field, reason }) => `${field} ${reason}`);
const message = (shape: EnvShape, lookups: Partial<EnvLookups> = {}) => checkEnv(shellEnv(shape), { ...here, ...lookups })[0]?.message;
const grouped = (...groups: readonly EnvAutoscalingGroup[]): Partial<SandboxEnv["spec"]> => ({ autoscaling: { groups: [...groups] } });
const poolOf = (uid: string | undefined): SandboxPool => ({
  metadata: {
    name: "shell-a",
    ...(uid !== undefined && { ownerReferences: [{ apiVersion: "agents.navix.sh/v1alpha1", kind: "SandboxEnv", name: "x", uid }] }),
  },
  spec: { replicas: 1 },
});
const member = "spec.clusters[0].members[0]";

test("a plain Env is in order", () => {
  expect(problems({})).toEqual([]);
});

describe("refused is", () => {
  test("an Env without members", () => {
    expect(problems({ members: [] })).toEqual(["spec.clusters NoMembers"]);
    expect(message({ members: [] })).toContain("add one: {clusterID: local");
  });

  test("a group without members", () => {
    expect(problems({ spec: grouped({ name: "gpu" }) })).toEqual(["spec.autoscaling.groups[0].name GroupWithoutMembers"]);
  });

  test("a group whose members have different resources, in whatever units they are written", () => {
    const members = [
      aMember("a", { inlineResources: { limits: { cpu: "1", memory: "1Gi" } } }),
      aMember("b", { inlineResources: { limits: { memory: "1024Mi", cpu: "1000m" } } }),
      aMember("c", { inlineResources: { limits: { cpu: "2" } } }),
      aMember("d", { instanceType: "small", multiplier: 2 }),
      aMember("e", { scalingGroup: "", inlineResources: { limits: { cpu: "7" } } }),
    ];
    expect(problems({ members })).toEqual([
      "spec.clusters[0].members[2].config.inlineResources ResourcesDiffer",
      "spec.clusters[0].members[3].config.instanceType ResourcesDiffer",
    ]);
  });

  test("mode Aggressive without a maximum", () => {
    expect(problems({ spec: grouped({ name: "default", scaleUpPolicy: { mode: "Aggressive" } }) })).toEqual([
      "spec.autoscaling.groups[0].maxReplicas MaximumNeeded",
    ]);
  });

  test.for([
    ["a member's", { minReplicas: 3, maxReplicas: 2 }, {}, `${member}.config.minReplicas`],
    ["a group's", {}, { minReplicas: 3, maxReplicas: 2 }, "spec.autoscaling.groups[0].minReplicas"],
    ["the group's above what its members may have", { maxReplicas: 4 }, { minReplicas: 5 }, "spec.autoscaling.groups[0].minReplicas"],
    ["its members' above what the group may have", { minReplicas: 5 }, { maxReplicas: 4 }, "spec.autoscaling.groups[0].maxReplicas"],
    [
      "a schedule's",
      { maxReplicas: 4 },
      { schedules: [{ name: "day", start: "0 8 * * *", durationSeconds: 60, minReplicas: 5 }] },
      "spec.autoscaling.groups[0].schedules[0].minReplicas",
    ],
  ] as const)("a minimum above a maximum: %s", ([, config, group, field]) => {
    expect(problems({ members: [aMember("a", config)], spec: grouped({ name: "default", ...group }) })).toEqual([
      `${field} BoundsContradict`,
    ]);
  });

  test("a minimum or a schedule in mode OnDemandJob, which keeps no pods", () => {
    const schedules = [{ name: "day", start: "0 8 * * *", durationSeconds: 60, minReplicas: 1 }];
    const spec = { mode: "OnDemandJob", ...grouped({ name: "default", minReplicas: 1, schedules }) } as const;
    expect(problems({ members: [aMember("a", { minReplicas: 1 })], spec })).toEqual([
      `${member}.config.minReplicas BoundsContradict`,
      "spec.autoscaling.groups[0].minReplicas BoundsContradict",
      "spec.autoscaling.groups[0].schedules BoundsContradict",
    ]);
    expect(problems({ spec: { mode: "OnDemandJob", ...grouped({ name: "default", maxReplicas: 9 }) } })).toEqual([]);
  });

  test("a schedule that no clock could follow, with the field and what would be right", () => {
    const day = { name: "day", start: "0 8 * * *", durationSeconds: 60, minReplicas: 1 };
    const of = (wrong: Partial<typeof day> & { readonly timeZone?: string }): EnvShape => ({
      spec: grouped({ name: "default", schedules: [day, { ...day, name: "wrong", ...wrong }] }),
    });
    const schedule = "spec.autoscaling.groups[0].schedules[1]";
    expect(problems(of({ start: "0 25 * * *" }))).toEqual([`${schedule}.start ScheduleInvalid`]);
    expect(message(of({ start: "0 25 * * *" }))).toContain("such as 0 8 * * 1-5");
    expect(problems(of({ timeZone: "Mars/Olympus" }))).toEqual([`${schedule}.timeZone ScheduleInvalid`]);
    expect(message(of({ timeZone: "Mars/Olympus" }))).toContain("such as Europe/Berlin");
  });

  test("a template that does not exist, or has nothing to run", () => {
    expect(problems({ spec: { templateRef: { name: "go" } } })).toEqual(["spec.templateRef.name TemplateMissing"]);
    const empty = shellTemplate({ template: { spec: { containers: [] } } });
    expect(problems({}, { template: () => empty })).toEqual(["spec.templateRef.name TemplateInvalid"]);
  });

  test("a version that the template does not have, unless all members carry a copy of it", () => {
    const spec = { templateRef: { name: "shell", version: "v0.9.0" } };
    expect(problems({ spec })).toEqual(["spec.templateRef.version TemplateVersionMissing"]);
    expect(message({ spec })).toContain("use v1.0.0, or leave version out");
    const annotations = { "agentbox.navix.sh/template-version": "v0.9.0", "agentbox.navix.sh/template-name": "shell" };
    const copy = { metadata: { annotations }, spec: { replicas: 1, template: {} } };
    expect(problems({ spec, members: [aMember("a", {}, copy)] })).toEqual([]);
    expect(problems({ spec, members: [aMember("a", {}, copy), aMember("b")] })).toEqual([
      "spec.templateRef.version TemplateVersionMissing",
    ]);
    expect(problems({ members: [aMember("a", {}, copy)] }, { template: () => undefined })).toEqual([]);
  });

  test("an instance type that does not exist, and a multiplier that it does not allow", () => {
    expect(problems({ members: [aMember("a", { instanceType: "gpu", multiplier: 1 })] })).toEqual([
      `${member}.config.instanceType InstanceTypeMissing`,
    ]);
    expect(problems({ members: [aMember("a", { instanceType: "small", multiplier: 9 })] })).toEqual([
      `${member}.config.multiplier MultiplierOutOfRange`,
    ]);
    expect(problems({ spec: { defaults: { instanceType: "gpu", multiplier: 1 } } })).toEqual([
      "spec.defaults.instanceType InstanceTypeMissing",
    ]);
  });

  test("a default size that no member has", () => {
    const spec = { defaults: { instanceType: "small", multiplier: 2 } };
    expect(problems({ spec, members: [aMember("a", { instanceType: "small", multiplier: 1 })] })).toEqual([
      "spec.defaults.instanceType DefaultsNotOffered",
    ]);
    expect(problems({ spec, members: [aMember("a", { instanceType: "small", multiplier: 2 })] })).toEqual([]);
  });

  test("a label or annotation that belongs to AgentBox", () => {
    const config = { labels: { "scheduling.navix.sh/team": "red" }, annotations: { "agentbox.navix.sh/x": "y" } };
    expect(problems({ members: [aMember("a", config)] })).toEqual([
      `${member}.config.labels[scheduling.navix.sh/team] ReservedKey`,
      `${member}.config.annotations[agentbox.navix.sh/x] ReservedKey`,
    ]);
  });
});

describe("the name of a pool", () => {
  const taken = `${member}.name PoolNameTaken`;
  const old = shellEnv({ name: "old", metadata: { uid: "u-old", creationTimestamp: "2026-01-01T00:00:00Z" } });
  const mine: EnvShape = { metadata: { uid: "u-mine", creationTimestamp: "2026-01-02T00:00:00Z" } };

  test("is refused where a pool has it that is not the Env's", () => {
    expect(problems(mine, { pool: () => poolOf(undefined) })).toEqual([taken]);
    expect(problems(mine, { pool: () => poolOf("u-mine") })).toEqual([]);
    expect(problems({}, { pool: () => poolOf("u-old") })).toEqual([taken]);
  });

  test("stays with the Env that has the pool; before there is one, the older Env gets it, and by their names where both are as old", () => {
    const envsWithMember = () => [old];
    expect(problems(mine, { envsWithMember })).toEqual([taken]);
    expect(problems({}, { envsWithMember })).toEqual([taken]);
    expect(problems(mine, { envsWithMember, pool: () => poolOf("u-mine") })).toEqual([]);
    expect(message(mine, { envsWithMember, pool: () => poolOf("u-old") })).toContain("taken by Env old");
    const older = { metadata: { uid: "u", creationTimestamp: "2025-01-01T00:00:00Z" } };
    expect(problems(older, { envsWithMember })).toEqual([]);
    const asOld = { ...mine, metadata: { ...mine.metadata, creationTimestamp: "2026-01-01T00:00:00Z" } };
    expect([problems({ ...asOld, name: "a" }, { envsWithMember }), problems({ ...asOld, name: "z" }, { envsWithMember })]).toEqual([
      [],
      [taken],
    ]);
  });

  test("of two Envs that want it, exactly one gets it", () => {
    const time = fc.constantFrom("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
    const env = (name: string) => time.map((creationTimestamp) => shellEnv({ name, metadata: { uid: name, creationTimestamp } }));
    fc.assert(
      fc.property(env("one"), env("two"), fc.constantFrom("one", "two", undefined), (one, two, owner) => {
        const lookups = { ...here, envsWithMember: () => [one, two], pool: () => (owner === undefined ? undefined : poolOf(owner)) };
        expect([one, two].filter((each) => checkEnv(each, lookups).length === 0)).toHaveLength(1);
      }),
    );
  });

  test("of members in other clusters does not matter here", () => {
    const clusters = [{ clusterID: "far", members: [aMember("shell-a", { instanceType: "unheard", multiplier: 1 })] }];
    expect(problems({ spec: { clusters } }, { pool: () => poolOf(undefined) })).toEqual([]);
  });
});
