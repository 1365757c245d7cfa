/** Members and groups inside an Env, and the Env with one of them changed. Pure. */
import type { EnvAutoscalingGroup } from "#model/env-autoscaling.ts";
import type { EnvClusterMember } from "#model/env-member.ts";
import type { Json } from "#model/meta.ts";
import type { JsonPatchOperation } from "#model/patch.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import { membersIn } from "#sandbox/envs/env-members.ts";

export function membersHere(env: SandboxEnv, clusterID: string): readonly EnvClusterMember[] {
  return membersIn(env, clusterID).map(({ member }) => member);
}

export function groupsOf({ spec }: SandboxEnv): readonly EnvAutoscalingGroup[] {
  return spec.autoscaling?.groups ?? [];
}

/** Undefined takes the member away. */
export function withMember(env: SandboxEnv, clusterID: string, name: string, member: EnvClusterMember | undefined): SandboxEnv {
  const clusters = env.spec.clusters ?? [];
  const known = clusters.some((cluster) => cluster.clusterID === clusterID) ? clusters : [...clusters, { clusterID }];
  const next = known.map((cluster) =>
    cluster.clusterID === clusterID ? { ...cluster, members: withEntry(cluster.members ?? [], name, member) } : cluster,
  );
  return { ...env, spec: { ...env.spec, clusters: next } };
}

/** Undefined takes the group away. */
export function withGroup(env: SandboxEnv, name: string, group: EnvAutoscalingGroup | undefined): SandboxEnv {
  return { ...env, spec: { ...env.spec, autoscaling: { ...env.spec.autoscaling, groups: withEntry(groupsOf(env), name, group) } } };
}

function withEntry<T extends { readonly name: string }>(list: readonly T[], name: string, entry: T | undefined): readonly T[] {
  const at = list.findIndex((one) => one.name === name);
  if (entry === undefined) return list.filter((one) => one.name !== name);
  return at === -1 ? [...list, entry] : list.with(at, entry);
}

/** The same change as `withMember`, as a patch of that one entry. */
export function memberPatch(
  env: SandboxEnv,
  clusterID: string,
  name: string,
  member: EnvClusterMember | undefined,
): readonly JsonPatchOperation[] {
  const { clusters } = env.spec;
  const at = clusters?.findIndex((cluster) => cluster.clusterID === clusterID) ?? -1;
  if (at === -1) {
    const made = { clusterID, members: member === undefined ? [] : [member] };
    return [added("/spec/clusters", clusters, made)];
  }
  return entryPatch(`/spec/clusters/${at}/members`, clusters?.[at]?.members, name, member);
}

/** The same change as `withGroup`, as a patch of that one entry. */
export function groupPatch(env: SandboxEnv, name: string, group: EnvAutoscalingGroup | undefined): readonly JsonPatchOperation[] {
  const { autoscaling } = env.spec;
  if (autoscaling === undefined) {
    return [{ op: "add", path: "/spec/autoscaling", value: asJson({ groups: group === undefined ? [] : [group] }) }];
  }
  return entryPatch("/spec/autoscaling/groups", autoscaling.groups, name, group);
}

function entryPatch<T extends { readonly name: string }>(
  path: string,
  list: readonly T[] | undefined,
  name: string,
  entry: T | undefined,
): readonly JsonPatchOperation[] {
  const at = list?.findIndex((one) => one.name === name) ?? -1;
  if (entry === undefined) return at === -1 ? [] : [{ op: "remove", path: `${path}/${at}` }];
  return [at === -1 ? added(path, list, entry) : { op: "replace", path: `${path}/${at}`, value: asJson(entry) }];
}

/** To the end of a list that may not be there yet. */
function added(path: string, list: readonly unknown[] | undefined, entry: unknown): JsonPatchOperation {
  return list === undefined ? { op: "add", path, value: asJson([entry]) } : { op: "add", path: `${path}/-`, value: asJson(entry) };
}

/** Parts of objects are JSON by their schemas. */
function asJson(value: unknown): Json {
  return value as Json;
}
