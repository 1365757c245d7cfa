import { describe, expect, test } from "vitest";
import type { EnvObservedMember } from "#model/env-status.ts";
import { annotationKeys } from "#model/keys.ts";
import { checkEnv } from "#sandbox/envs/check-env.ts";
import { type EnvShape, shellEnv, shellTemplate, someInstanceTypes } from "../../../test/world/env-objects.ts";
import { envConditionsOf, type EnvFacts } from "./env-conditions.ts";

const active: EnvObservedMember = { name: "shell-a", state: "Active", templateVersion: "v1.0.0" };
const facts = (more: Partial<EnvFacts> = {}): EnvFacts => ({
  env: shellEnv(),
  clusterID: "local",
  problems: [],
  members: [active],
  template: shellTemplate(),
  leaving: [],
  ...more,
});
const [ready, consistent, autoscaling] = [0, 1, 2].map((index) => (more: Partial<EnvFacts> = {}) => {
  const { status, reason, message } = envConditionsOf(facts(more))[index] ?? {};
  return `${status} ${reason}: ${message}`;
}) as [Said, Said, Said];
type Said = (more?: Partial<EnvFacts>) => string;
const grouped = (enabled: boolean): EnvShape => ({ spec: { autoscaling: { groups: [{ name: "default", enabled }] } } });

test("an Env always has the same three conditions", () => {
  expect(envConditionsOf(facts()).map(({ type }) => type)).toEqual(["Ready", "TemplateConsistent", "AutoscalingActive"]);
});

describe("Ready", () => {
  test("is true when all members are Active", () => {
    expect(ready()).toBe("True MembersActive: its member is Active");
    expect(ready({ members: [active, { ...active, name: "shell-b" }] })).toBe("True MembersActive: all 2 members are Active");
  });

  test.for(["Missing", "Inconsistent", "Saturated"] as const)(
    "is false as long as a member is %s, with the member's own words",
    (state) => {
      const members = [active, { name: "shell-b", state, message: "because" }];
      expect(ready({ members })).toBe(`False Member${state}: shell-b: because`);
    },
  );

  test("tells of a member that is missing before one that is full", () => {
    const members = [
      { name: "b", state: "Saturated", message: "full" },
      { name: "c", state: "Missing", message: "none" },
    ] as const;
    expect(ready({ members })).toBe("False MemberMissing: c: none");
  });

  test("names the first fields that are wrong, and how many more are", () => {
    const problems = [1, 2, 3, 4, 5].map((n) => ({ field: `spec.f${n}`, reason: "ReservedKey" as const, message: `m${n}` }));
    expect(ready({ problems })).toBe("False ReservedKey: spec.f1: m1; spec.f2: m2; spec.f3: m3; and 2 more");
    const long = [{ field: "spec", reason: "ReservedKey" as const, message: "x".repeat(5_000) }];
    expect(ready({ problems: long }).length).toBeLessThan(1_100);
  });

  test("tells of a schedule that cannot be read, with its field and what would be right", () => {
    const schedules = [{ name: "day", start: "0 8 * * *", timeZone: "Mars/Olympus", durationSeconds: 60, minReplicas: 1 }];
    const env = shellEnv({ spec: { autoscaling: { groups: [{ name: "default", enabled: true, schedules }] } } });
    const lookups = {
      clusterID: "local",
      template: () => shellTemplate(),
      instanceTypes: someInstanceTypes,
      pool: () => undefined,
      envsWithMember: () => [],
    };
    const problems = checkEnv(env, lookups);
    expect(ready({ env, problems })).toBe(
      'False ScheduleInvalid: spec.autoscaling.groups[0].schedules[0].timeZone: time zone "Mars/Olympus" is unknown; use a name such as Europe/Berlin or UTC',
    );
    expect(autoscaling({ env, problems })).toContain("False InvalidSpec");
  });

  test("is false in a cluster in which the Env has no members", () => {
    const env = shellEnv({ spec: { clusters: [{ clusterID: "far", members: [{ name: "far-a" }] }] } });
    expect(ready({ env, members: [] })).toContain("False NoMembersHere: this cluster is local, and the Env has members in far only");
  });

  test("of an Env that is being deleted says which pools still have sandboxes, and how to end them", () => {
    const env = shellEnv({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } });
    expect(ready({ env })).toBe("False Deleting: the Env is being deleted");
    expect(ready({ env, leaving: ["shell-a"] })).toContain(
      `when shell-a are empty: running sandboxes run on; annotation ${annotationKeys.endSandboxes}`,
    );
  });
});

describe("TemplateConsistent", () => {
  test("is true when all members are made from the template as it is", () => {
    expect(consistent()).toBe("True Consistent: all members are made from template shell v1.0.0");
  });

  test("is false without the template, unless the Env stands for a pool that brings its own", () => {
    expect(consistent({ template: undefined })).toContain("False TemplateMissing: there is no SandboxTemplate shell");
    const env = shellEnv({ metadata: { annotations: { [annotationKeys.adoptedGeneration]: "1" } } });
    expect(consistent({ env, template: undefined })).toContain("True Consistent");
  });

  test("is false while a member is inconsistent or behind", () => {
    const members = [{ ...active, state: "Inconsistent" as const, message: "changed" }];
    expect(consistent({ members })).toBe("False MemberInconsistent: shell-a: changed");
    expect(consistent({ template: shellTemplate({ version: "v2.0.0" }) })).toBe(
      "False TemplateOutdated: template shell is at version v2.0.0; made from another one: shell-a (v1.0.0); refresh them to follow it",
    );
  });

  test("is true of an Env that stays at a version which its members have", () => {
    const env = shellEnv({ spec: { templateRef: { name: "shell", version: "v1.0.0" } } });
    expect(consistent({ env, template: shellTemplate({ version: "v2.0.0" }) })).toContain("True Consistent");
  });
});

test("TemplateConsistent does not speak of members that are not made", () => {
  const members = [{ name: "shell-a", state: "Missing" as const }];
  expect(consistent({ members })).toContain("Unknown NothingMade: no member of this cluster has a pool yet");
  expect(consistent({ members: [] })).toContain("Unknown NothingMade");
  const problems = [{ field: "spec.templateRef.version", reason: "TemplateVersionMissing" as const, message: "is at v1.0.0" }];
  expect(consistent({ members, problems })).toBe("False TemplateVersionMissing: is at v1.0.0");
});

describe("AutoscalingActive", () => {
  test("names the groups that are enabled", () => {
    expect(autoscaling({ env: shellEnv(grouped(true)) })).toBe("True Enabled: enabled for default");
  });

  test("is false when no group is enabled, when something is wrong, and where there is no stock to size", () => {
    expect(autoscaling()).toContain("False Disabled: no group is enabled");
    expect(autoscaling({ env: shellEnv(grouped(false)) })).toContain("False Disabled");
    const problems = [{ field: "spec", reason: "ReservedKey" as const, message: "m" }];
    expect(autoscaling({ env: shellEnv(grouped(true)), problems })).toContain("False InvalidSpec");
    const env = shellEnv({ spec: { mode: "OnDemandJob", ...grouped(true).spec } });
    expect(autoscaling({ env })).toContain("False OnDemand");
  });
});
