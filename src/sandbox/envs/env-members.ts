/** What is read off an Env about one of its members. Pure; used by the Env controller, its services and its checks. */
import type { EnvClusterMember } from "#model/env-member.ts";
import { annotationKeys, envOwnerKind, ownGroup } from "#model/keys.ts";
import type { ApiObject } from "#model/meta.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";

/** A member and where it stands in its Env. */
export interface PlacedMember {
  readonly clusterID: string;
  readonly member: EnvClusterMember;
  /** JSON pointer of the list entry, for patches. */
  readonly pointer: string;
  /** The same for people: spec.clusters[0].members[1]. */
  readonly field: string;
}

export type MemberWithSnapshot = EnvClusterMember & { readonly spec: NonNullable<EnvClusterMember["spec"]> };

export function allMembers({ spec }: Pick<SandboxEnv, "spec">): readonly PlacedMember[] {
  return (spec.clusters ?? []).flatMap(({ clusterID, members = [] }, cluster) =>
    members.map((member, index) => ({
      clusterID,
      member,
      pointer: `/spec/clusters/${cluster}/members/${index}`,
      field: `spec.clusters[${cluster}].members[${index}]`,
    })),
  );
}

/** The members whose pools are in this cluster. */
export function membersIn(env: Pick<SandboxEnv, "spec">, clusterID: string): readonly PlacedMember[] {
  return allMembers(env).filter((placed) => placed.clusterID === clusterID);
}

/** Empty: the member takes no part in autoscaling. */
export function scalingGroupOf({ config }: EnvClusterMember): string {
  return config?.scalingGroup ?? "default";
}

/** True when pods are made for requests only, and none are kept: the autoscaler has nothing to decide, and replicas are 0. */
export function isOnDemand({ spec }: Pick<SandboxEnv, "spec">): boolean {
  return spec.mode === "OnDemandJob";
}

/** True when the autoscaler sets the member's replicas. */
export function isScaled(env: Pick<SandboxEnv, "spec">, member: EnvClusterMember): boolean {
  if (isOnDemand(env)) return false;
  const group = scalingGroupOf(member);
  return (env.spec.autoscaling?.groups ?? []).some(({ name, enabled }) => name === group && enabled === true);
}

/** A member that carries the pool as it is to be made. `spec.replicas` alone, as people may write it, is not that. */
export function hasSnapshot(member: EnvClusterMember): member is MemberWithSnapshot {
  return member.spec !== undefined && (member.spec.template !== undefined || member.spec.templateName !== undefined);
}

/** The member's replicas; of one that comes without any its minimum, and where nothing scales it and nothing was said, one. */
export function firstReplicas(env: Pick<SandboxEnv, "spec">, member: EnvClusterMember): number {
  const { spec, config } = member;
  if (isOnDemand(env)) return 0;
  return spec?.replicas ?? config?.minReplicas ?? (isScaled(env, member) ? 0 : 1);
}

/** True when this very Env owns the object, as its controller or, of adopted pools, without controlling it. */
export function isOwnedBy(object: ApiObject, env: ApiObject): boolean {
  const { uid } = env.metadata;
  return uid !== undefined && (object.metadata.ownerReferences ?? []).some((owner) => owner.uid === uid && isEnvReference(owner));
}

/** True for the Env that was made for the pool of its own name. */
export function isAdopting({ metadata }: ApiObject): boolean {
  return metadata.annotations?.[annotationKeys.adoptedGeneration] !== undefined;
}

/** True for the one member of such an Env that stands for the pool that was there before. */
export function isAdopted(env: ApiObject, memberName: string): boolean {
  return isAdopting(env) && env.metadata.name === memberName;
}

function isEnvReference({ kind, apiVersion }: { readonly kind: string; readonly apiVersion: string }): boolean {
  return kind === envOwnerKind && apiVersion.startsWith(`${ownGroup}/`);
}
