import fc from "fast-check";
import { expect, test } from "vitest";
import { applyJsonPatch } from "#engines/embedded/store/json-patch.ts";
import type { EnvAutoscalingGroup } from "#model/env-autoscaling.ts";
import type { EnvClusterMember, EnvClusterSpec } from "#model/env-member.ts";
import type { JsonObject } from "#model/meta.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import { groupPatch, memberPatch, withGroup, withMember } from "./env-parts.ts";

const name = fc.constantFrom("a", "b", "c");
const member: fc.Arbitrary<EnvClusterMember> = fc.record({ name, spec: fc.record({ replicas: fc.nat(9) }) });
const group: fc.Arbitrary<EnvAutoscalingGroup> = fc.record({ name, maxReplicas: fc.nat(9) });
const byName = { selector: ({ name: one }: { readonly name: string }) => one };
const cluster: fc.Arbitrary<EnvClusterSpec> = fc.record(
  { clusterID: fc.constantFrom("x", "y"), members: fc.uniqueArray(member, byName) },
  { requiredKeys: ["clusterID"] },
);
const env: fc.Arbitrary<SandboxEnv> = fc
  .record(
    {
      clusters: fc.uniqueArray(cluster, { selector: ({ clusterID }) => clusterID }),
      autoscaling: fc.record({ groups: fc.uniqueArray(group, byName) }, { requiredKeys: [] }),
    },
    { requiredKeys: [] },
  )
  .map((spec) => ({ metadata: { name: "e" }, spec: { templateRef: { name: "t" }, mode: "WarmPool", ...spec } }));

function patched(before: SandboxEnv, operations: ReturnType<typeof memberPatch>): unknown {
  return applyJsonPatch(JSON.parse(JSON.stringify(before)) as JsonObject, operations);
}

/** An absent list and an empty one are the same Env. */
function normal(one: unknown): unknown {
  const { spec } = one as SandboxEnv;
  const clusters = (spec.clusters ?? [])
    .map((entry) => ({ ...entry, members: entry.members ?? [] }))
    .filter(({ members }) => members.length > 0);
  return { ...spec, clusters, autoscaling: spec.autoscaling?.groups ?? [] };
}

test("W3: the patch of one member makes the same Env as putting the member into it, and touches no other entry", () => {
  fc.assert(
    fc.property(env, fc.constantFrom("x", "y"), name, fc.option(member, { nil: undefined }), (before, where, who, wanted) => {
      const entry = wanted && { ...wanted, name: who };
      expect(normal(patched(before, memberPatch(before, where, who, entry)))).toEqual(normal(withMember(before, where, who, entry)));
    }),
  );
});

test("W3: the patch of one group makes the same Env as putting the group into it", () => {
  fc.assert(
    fc.property(env, name, fc.option(group, { nil: undefined }), (before, who, wanted) => {
      const entry = wanted && { ...wanted, name: who };
      expect(normal(patched(before, groupPatch(before, who, entry)))).toEqual(normal(withGroup(before, who, entry)));
    }),
  );
});
