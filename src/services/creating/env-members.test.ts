import { expect, test } from "vitest";
import { labelKeys } from "#model/keys.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { growthOf, memberPool, priorityOf } from "./env-members.ts";

const pool = (group?: string): SandboxPool => ({
  metadata: { namespace: "ns", name: "e-a", labels: group === undefined ? {} : { [labelKeys.scalingGroup]: group } },
  spec: { replicas: 1 },
});

const env = (spec: Partial<SandboxEnv["spec"]>, more: Partial<SandboxEnv> = {}): SandboxEnv => ({
  metadata: { namespace: "ns", name: "e" },
  spec: { templateRef: { name: "t" }, mode: "WarmPool", ...spec },
  ...more,
});

const member = (config: object) => ({ clusters: [{ clusterID: "local", members: [{ name: "e-a", config }] }] });

test("a pool grows for waiting requests where its group is enabled, up to the maxima of member and group", () => {
  const groups = { autoscaling: { groups: [{ name: "g", enabled: true, maxReplicas: 9 }] } };
  expect(growthOf(env({ ...member({ maxReplicas: 4 }), ...groups }), pool("g"))).toEqual({
    kind: "grows",
    memberMax: 4,
    groupMax: 9,
    group: "g",
  });
  expect(growthOf(env(groups), pool("g"))).toMatchObject({ kind: "grows", memberMax: Infinity });
});

test("a pool without an Env, a group or an enabled one has the size that it is given", () => {
  expect(growthOf(undefined, pool("g"))).toMatchObject({ kind: "fixed", why: "no-env" });
  expect(growthOf(env({}), pool())).toMatchObject({ kind: "fixed", why: "no-group" });
  expect(growthOf(env({ autoscaling: { groups: [{ name: "g", enabled: false }] } }), pool("g"))).toMatchObject({ why: "group-disabled" });
  const deleted = { metadata: { name: "e", deletionTimestamp: "2026-01-01T00:00:00Z" } };
  expect(growthOf(env({ mode: "OnDemandJob" }, deleted), pool("g"))).toMatchObject({ why: "env-deleted" });
});

test("a pool of an OnDemandJob Env makes a pod for each request, whatever its group says", () => {
  expect(growthOf(env({ mode: "OnDemandJob", ...member({ maxReplicas: 3 }) }), pool())).toMatchObject({ kind: "grows", memberMax: 3 });
});

test("a member's config is that of the cluster in which its pool runs", () => {
  const clusters = [
    { clusterID: "there", members: [{ name: "e-a", config: { priority: 1, instanceType: "far", multiplier: 1 } }] },
    { clusterID: "here", members: [{ name: "e-a", config: { priority: 2, instanceType: "near", multiplier: 2 } }] },
  ];
  const here = env({ clusters }, { status: { clusters: [{ clusterID: "here", isLocal: true }] } });
  expect(priorityOf(here, "e-a")).toBe(2);
  expect(memberPool(here, pool("g"))).toMatchObject({ instanceType: "near", multiplier: 2, scalingGroup: "g", isDeleting: false });
});
