/** Which Env a pool belongs to, as which member, and what its scaling group says. Read off the cache. */
import type { Key } from "#kube/controller/key.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { EnvAutoscalingGroup } from "#model/env-autoscaling.ts";
import type { EnvClusterMember } from "#model/env-member.ts";
import { labelKeys } from "#model/keys.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";

export interface EnvMembership {
  readonly env: SandboxEnv;
  readonly member: EnvClusterMember;
  /** The entry of the member's scaling group; undefined when it has none. */
  readonly group: EnvAutoscalingGroup | undefined;
}

/** The group of members that name none. */
const defaultGroup = "default";

/** `clusterID`: in which cluster's entry to look; in all of them when left out. */
export function membershipOf(
  { envs }: Pick<SandboxCache, "envs">,
  { metadata: { namespace, name = "", labels } }: SandboxPool,
  clusterID?: string,
): EnvMembership | undefined {
  const envName = labels?.[labelKeys.env];
  const env = envName === undefined ? undefined : envs.objects.get({ namespace, name: envName });
  if (env === undefined || env.metadata.deletionTimestamp !== undefined) return undefined;
  for (const cluster of env.spec.clusters ?? []) {
    if (clusterID !== undefined && cluster.clusterID !== clusterID) continue;
    const member = cluster.members?.find((one) => one.name === name);
    if (member !== undefined) return { env, member, group: groupOf(env, member) };
  }
  return undefined;
}

export function groupNameOf({ config }: EnvClusterMember): string {
  return config?.scalingGroup ?? defaultGroup;
}

/** Whether requests that wait have pods made, beyond `spec.replicas`. */
export function growsForWaiters({ env, group }: EnvMembership): boolean {
  return env.spec.mode === "OnDemandJob" || group?.enabled === true;
}

/** The Env that a pool's label names. */
export function envKeyOf({ metadata: { namespace, labels } }: SandboxPool): Key | undefined {
  const name = labels?.[labelKeys.env];
  return name === undefined ? undefined : { namespace, name };
}

function groupOf({ spec }: SandboxEnv, member: EnvClusterMember): EnvAutoscalingGroup | undefined {
  const name = groupNameOf(member);
  return spec.autoscaling?.groups?.find((group) => group.name === name);
}
