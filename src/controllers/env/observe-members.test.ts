import { describe, expect, test } from "vitest";
import type { EnvClusterMember } from "#model/env-member.ts";
import { annotationKeys } from "#model/keys.ts";
import type { SandboxPool, SandboxPoolStatus } from "#model/sandbox-pool.ts";
import { membersIn, type PlacedMember } from "#sandbox/envs/env-members.ts";
import { formatOverrides, renderPool } from "#sandbox/pools/render-pool.ts";
import { aMember, type EnvShape, shellEnv, shellTemplate } from "../../../test/world/env-objects.ts";
import { type MemberFacts, observeMember } from "./observe-members.ts";
import { ownerReferenceTo } from "./plan-member.ts";

const nowMs = Date.parse("2026-01-01T12:00:00Z");
const later = "2026-01-01T12:01:00Z";
const earlier = "2026-01-01T11:59:00Z";

/** An Env with one member that was rendered, and its pool. */
function rendered(shape: EnvShape = {}, config: EnvClusterMember["config"] = {}) {
  const bare = aMember("shell-a", config);
  const before = shellEnv({ metadata: { uid: "u" }, members: [bare], ...shape });
  const { metadata, spec } = renderPool({ env: before, member: bare, template: shellTemplate() });
  const env = shellEnv({ metadata: { uid: "u" }, members: [{ ...bare, metadata, spec }], ...shape });
  const [placed] = membersIn(env, "local");
  const pool: SandboxPool = { metadata: { ...metadata, name: "shell-a", ownerReferences: [ownerReferenceTo(env, true)] }, spec };
  return { env, placed: placed as PlacedMember, pool };
}

const observed = (facts: Partial<MemberFacts> = {}) => observeMember({ ...rendered(), refusal: undefined, nowMs, ...facts });
const withStatus = (status: Partial<SandboxPoolStatus>): SandboxPool => {
  const { pool } = rendered();
  return { ...pool, status };
};

test("a member whose pool is as it was rendered is Active, with its numbers and where it came from", () => {
  const pool = withStatus({ idleReplicas: 2, runningReplicas: 3, pendingRequests: 4 });
  expect(observed({ pool })).toEqual({
    name: "shell-a",
    state: "Active",
    templateVersion: "v1.0.0",
    effectiveResources: { limits: { cpu: "2", memory: "1Gi", "ephemeral-storage": "4Gi" } },
    idleCount: 2,
    runningCount: 3,
    pendingRequests: 4,
    desiredReplicas: 1,
    currentReplicas: 1,
  });
});

describe("a member is Missing", () => {
  test("without a pool, and says why: what a plugin refused, another pool's name, or that it comes", () => {
    expect(observed({ pool: undefined, refusal: "plugin quota: no more" })).toMatchObject({
      state: "Missing",
      message: "plugin quota: no more",
    });
    expect(observed({ pool: undefined })).toMatchObject({ state: "Missing", message: expect.stringContaining("does not exist yet") });
    const { pool } = rendered();
    const foreign = { ...pool, metadata: { ...pool.metadata, ownerReferences: [] } };
    expect(observed({ pool: foreign })).toMatchObject({
      state: "Missing",
      message: expect.stringContaining("another pool has the name shell-a; choose another member name"),
      currentReplicas: 0,
    });
  });

  test("while its pool is being deleted", () => {
    const { pool } = rendered();
    const going = { ...pool, metadata: { ...pool.metadata, deletionTimestamp: earlier } };
    expect(observed({ pool: going })).toMatchObject({ state: "Missing", message: expect.stringContaining("is being deleted") });
  });
});

describe("a member is Saturated", () => {
  const full = (autoscaling: object): SandboxPool => withStatus({ autoscaling });

  test("for as long as its pool says, with the reason that the autoscaler gives", () => {
    const pool = full({ saturatedUntil: later, scaleUpErrorMessage: "capacity: room for 1" });
    expect(observed({ pool })).toMatchObject({
      state: "Saturated",
      saturatedUntil: later,
      message: `the pool cannot grow now: capacity: room for 1; tried again after ${later}`,
    });
    expect(observed({ pool: full({ saturatedUntil: later }) }).message).toContain("the last try to grow did not give all");
  });

  test("no more when that time is over", () => {
    const past = observed({ pool: full({ saturatedUntil: earlier, scaleUpErrorMessage: "capacity: room for 1" }) });
    expect([past.state, past.saturatedUntil, past.message]).toEqual(["Active", undefined, undefined]);
    expect(observed({ pool: full({ saturatedUntil: new Date(nowMs).toISOString() }) }).state).toBe("Active");
  });

  test("at its maximum when no pod is idle", () => {
    const { env, placed, pool } = rendered({}, { maxReplicas: 1 });
    const at = (idleReplicas: number) => observed({ env, placed, pool: { ...pool, status: { idleReplicas } } });
    expect(at(0)).toMatchObject({ state: "Saturated", message: expect.stringContaining("raise config.maxReplicas, or add a member") });
    expect(at(1).state).toBe("Active");
  });
});

describe("a member is Inconsistent", () => {
  const message = (facts: Partial<MemberFacts>) => {
    const { state, message: text } = observed(facts);
    return `${state}: ${text}`;
  };

  test("when its choices have changed since its pool was rendered", () => {
    const { placed, pool } = rendered();
    const env = shellEnv({ metadata: { uid: "u" }, spec: { overrides: { image: "other:1" } } });
    expect(message({ env, placed, pool })).toMatch(/^Inconsistent: its config or the Env's overrides have changed .*; refresh the member/);
  });

  test("when it has lost its snapshot and a new one was refused", () => {
    const { env, pool, placed } = rendered();
    const bare = { ...placed, member: aMember("shell-a") };
    expect(message({ env, pool, placed: bare })).toContain(
      "Inconsistent: its choices have changed, and what follows from them was refused",
    );
  });

  test("when its pool is of another template, or of another version than the Env asks for", () => {
    const { pool, placed } = rendered();
    const of = (templateRef: { readonly name: string; readonly version?: string }) =>
      shellEnv({ metadata: { uid: "u" }, spec: { templateRef } });
    expect(message({ env: of({ name: "go" }), placed, pool })).toBe(
      "Inconsistent: its pool is made from template shell, not go; refresh the member",
    );
    expect(message({ env: of({ name: "shell", version: "v2.0.0" }), placed, pool })).toBe(
      "Inconsistent: its pool is made from version v1.0.0 of the template, not v2.0.0; refresh the member",
    );
    expect(observed({ env: of({ name: "shell", version: "v1.0.0" }), placed, pool }).state).toBe("Active");
  });

  test("before it is Saturated: growing would not help it", () => {
    const { placed } = rendered();
    const env = shellEnv({ metadata: { uid: "u" }, spec: { overrides: { image: "other:1" } } });
    expect(formatOverrides(env, placed.member)).not.toBe(formatOverrides(shellEnv(), placed.member));
    expect(observed({ env, placed, pool: withStatus({ autoscaling: { saturatedUntil: later } }) }).state).toBe("Inconsistent");
  });

  test.for([
    ["spec.overrides", { overrides: { image: "other:1" } }, {}],
    ["config.instanceType", {}, { instanceType: "small", multiplier: 1 }],
    ["mode OnDemandJob", { mode: "OnDemandJob" }, {}],
  ] as const)("when its pool was adopted and %s cannot reach it", ([what, spec, config]) => {
    const metadata = { uid: "u", annotations: { [annotationKeys.adoptedGeneration]: "1" } };
    const { env, placed, pool } = rendered({ name: "shell-a", metadata, spec: {} });
    const changed = { ...env, spec: { ...env.spec, ...spec } };
    const member = { ...placed.member, config: { ...placed.member.config, ...config } };
    expect(message({ env, placed, pool })).toMatch(/^Active/);
    expect(message({ env: changed, placed: { ...placed, member }, pool })).toContain(
      `Inconsistent: its pool was there before the Env, and ${what}`,
    );
  });
});
