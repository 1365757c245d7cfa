/**
 * Plans the work for one member whose pool is in this cluster. Pure.
 *
 * A member with only a `config` gets a snapshot. If its live pool was made from the same choices, the snapshot comes from there (applying a file again
 * replaces the list of members, and with it the snapshots); otherwise it is rendered and the plugins are asked. Then the live pool follows the snapshot.
 */
import { isDeepStrictEqual } from "node:util";
import type { MemberMetadata } from "#model/env-member.ts";
import { annotationKeys, envOwnerKind, labelKeys, ownGroup, ownVersion } from "#model/keys.ts";
import type { OwnerReference } from "#model/meta.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool, SandboxPoolSpec } from "#model/sandbox-pool.ts";
import { parseStringList } from "#sandbox/annotation-values.ts";
import { hasSnapshot, isOnDemand, isOwnedBy, isScaled, type MemberWithSnapshot, type PlacedMember } from "#sandbox/envs/env-members.ts";
import { formatOverrides, ownLabels } from "#sandbox/pools/render-pool.ts";

export type SnapshotStep =
  | { readonly kind: "kept" }
  /** The live pool is the snapshot. */
  | { readonly kind: "restore"; readonly metadata: MemberMetadata; readonly spec: SandboxPoolSpec }
  | { readonly kind: "admit" };

export function planSnapshot(env: SandboxEnv, { member }: PlacedMember, pool: SandboxPool | undefined): SnapshotStep {
  if (hasSnapshot(member)) return { kind: "kept" };
  if (pool === undefined || !isControlledBy(pool, env) || !isMadeFrom(pool, env, { member })) return { kind: "admit" };
  // The autoscaler's number outlives what a file says; without one, a number in the file is what a person wants.
  const replicas = isScaled(env, member) ? pool.spec.replicas : (member.spec?.replicas ?? pool.spec.replicas);
  return { kind: "restore", metadata: stampedMetadata(pool), spec: { ...pool.spec, replicas } };
}

export type PoolStep =
  | { readonly kind: "kept" }
  | { readonly kind: "create"; readonly pool: SandboxPool }
  | { readonly kind: "change"; readonly pool: SandboxPool }
  /** It goes, or belongs to something else: nothing can be done now. */
  | { readonly kind: "wait" };

export function planPool(env: SandboxEnv, member: MemberWithSnapshot, pool: SandboxPool | undefined): PoolStep {
  const wanted = wantedPool(env, member);
  if (pool === undefined) return { kind: "create", pool: wanted };
  if (pool.metadata.deletionTimestamp !== undefined || !isControlledBy(pool, env)) return { kind: "wait" };
  const labels = merged(pool.metadata.labels, wanted.metadata.labels, gone(pool, annotationKeys.managedLabelKeys, wanted.metadata.labels));
  const dropped = [...gone(pool, annotationKeys.managedAnnotationKeys, wanted.metadata.annotations), annotationKeys.endSandboxes];
  const annotations = merged(pool.metadata.annotations, wanted.metadata.annotations, dropped);
  const isSame =
    isDeepStrictEqual(pool.metadata.labels ?? {}, labels) &&
    isDeepStrictEqual(pool.metadata.annotations ?? {}, annotations) &&
    isDeepStrictEqual(pool.spec, wanted.spec);
  if (isSame) return { kind: "kept" };
  return { kind: "change", pool: { ...pool, metadata: { ...pool.metadata, labels, annotations }, spec: wanted.spec } };
}

/** True when the member's choices are those that its snapshot was rendered from. */
export function isUpToDate(env: SandboxEnv, { member }: Pick<PlacedMember, "member">): boolean {
  const recorded = member.metadata?.annotations?.[annotationKeys.overrides];
  return recorded === undefined || recorded === formatOverrides(env, member);
}

export function isControlledBy(pool: SandboxPool, env: SandboxEnv): boolean {
  const { uid } = env.metadata;
  return isOwnedBy(pool, env) && (pool.metadata.ownerReferences ?? []).some((owner) => owner.uid === uid && owner.controller === true);
}

export function ownerReferenceTo({ metadata: { name = "", uid = "" } }: SandboxEnv, controller: boolean): OwnerReference {
  const reference = { apiVersion: `${ownGroup}/${ownVersion}`, kind: envOwnerKind, name, uid };
  return controller ? { ...reference, controller, blockOwnerDeletion: true } : reference;
}

/** The labels and annotations that were put on the pool on behalf of its member, and none that came from elsewhere. */
function stampedMetadata({ metadata: { labels = {}, annotations = {} } }: SandboxPool): MemberMetadata {
  const pick = (map: StringMap, key: string): StringMap => {
    const keys = new Set(parseStringList(annotations[key]) ?? []);
    return Object.fromEntries(Object.entries(map).filter(([name]) => keys.has(name)));
  };
  return { labels: pick(labels, annotationKeys.managedLabelKeys), annotations: pick(annotations, annotationKeys.managedAnnotationKeys) };
}

type StringMap = Readonly<Record<string, string>>;

function isMadeFrom({ metadata }: SandboxPool, env: SandboxEnv, { member }: Pick<PlacedMember, "member">): boolean {
  const { annotations = {}, deletionTimestamp } = metadata;
  const { name, version = "" } = env.spec.templateRef;
  return (
    deletionTimestamp === undefined &&
    annotations[annotationKeys.overrides] === formatOverrides(env, member) &&
    annotations[annotationKeys.templateName] === name &&
    (version === "" || annotations[annotationKeys.templateVersion] === version)
  );
}

function wantedPool(env: SandboxEnv, member: MemberWithSnapshot): SandboxPool {
  const { [labelKeys.scalingGroup]: _, ...snapshot } = member.metadata?.labels ?? {};
  const labels = { ...snapshot, ...ownLabels(env, member) };
  const annotations = member.metadata?.annotations ?? {};
  return {
    metadata: {
      namespace: env.metadata.namespace ?? "",
      name: member.name,
      labels,
      annotations: {
        ...annotations,
        [annotationKeys.managedLabelKeys]: JSON.stringify(Object.keys(labels).sort()),
        [annotationKeys.managedAnnotationKeys]: JSON.stringify(Object.keys(annotations).sort()),
      },
      ownerReferences: [ownerReferenceTo(env, true)],
    },
    spec: isOnDemand(env) ? { ...member.spec, replicas: 0 } : member.spec,
  };
}

/** Keys that were put there for the member before, and are not wanted any more. */
function gone({ metadata: { annotations = {} } }: SandboxPool, key: string, wanted: StringMap = {}): readonly string[] {
  return (parseStringList(annotations[key]) ?? []).filter((name) => !Object.hasOwn(wanted, name));
}

function merged(present: StringMap = {}, wanted: StringMap = {}, dropped: readonly string[]): StringMap {
  return Object.fromEntries(Object.entries({ ...present, ...wanted }).filter(([key]) => !dropped.includes(key)));
}
