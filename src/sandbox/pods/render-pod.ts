/** One new idle pod of a pool, ready to be created. */
import { annotationKeys, finalizers, labelKeys, managedBySandboxApiServer, ownGroup, ownVersion } from "#model/keys.ts";
import type { ObjectMeta, OwnerReference } from "#model/meta.ts";
import type { Container, Pod, PodSpec } from "#model/pod.ts";
import type { PoolImageForm, SandboxPool } from "#model/sandbox-pool.ts";
import { type DaemonSettings, deliveryOf, withDaemonDelivered } from "./daemon-delivery.ts";
import { runsEntrypoint } from "#sandbox/pools/entrypoint.ts";
import { pinTargets, targetsOf, type Unresolved } from "#sandbox/images/images.ts";
import { type BlueprintResult, type PodBlueprint, podBlueprint } from "./pod-blueprint.ts";
import { mayHaveOwnUsers } from "./pod-security.ts";
import type { PoolTemplate } from "#sandbox/pools/resolve-template.ts";
import { templateHash } from "#sandbox/pools/template-hash.ts";

export interface PodToRender extends DaemonSettings {
  readonly pool: SandboxPool;
  readonly template: PoolTemplate;
  /** Chosen by the caller, because it must be known before the pod exists. */
  readonly name: string;
  /** Image to digest. */
  readonly digests: Readonly<Record<string, string>>;
  /** Digest: with the digest alone, for runtimes that take no tag beside it. */
  readonly imageForm?: PoolImageForm | undefined;
  /** Whether the nodes can give a pod users of its own; left out: not known of them. */
  readonly userNamespaces?: boolean | undefined;
}

export type RenderedPod =
  | { readonly kind: "pod"; readonly pod: Pod; readonly warnings: readonly string[] }
  | Unresolved
  | Extract<BlueprintResult, { kind: "refused" }>;

export function renderPod({ pool, template, name, digests, imageForm, userNamespaces = false, ...settings }: PodToRender): RenderedPod {
  const result = podBlueprint(template, settings);
  if (result.kind === "refused") return result;
  const { blueprint } = result;
  const use = imageForm === "Digest" ? undefined : 0;
  const containers = pinned(blueprint.spec.containers, digests, use);
  const initContainers = pinned(blueprint.spec.initContainers ?? [], digests, use);
  const missing = [...containers.missing, ...initContainers.missing];
  if (missing.length > 0) return { kind: "unresolved", missing };
  const init = blueprint.spec.initContainers === undefined ? {} : { initContainers: initContainers.containers };
  const users = userNamespaces && blueprint.daemonImage !== undefined && mayHaveOwnUsers(blueprint.spec) ? { hostUsers: false } : {};
  const spec: PodSpec = { ...blueprint.spec, ...users, containers: containers.containers, ...init };
  return {
    kind: "pod",
    pod: {
      metadata: metadataOf(pool, template, blueprint, name),
      spec: withDaemonDelivered(spec, deliveryOf(settings), runsEntrypoint(blueprint.annotations)),
    },
    warnings: blueprint.warnings,
  };
}

interface Pinned {
  readonly containers: readonly Container[];
  readonly missing: readonly string[];
}

function pinned(containers: readonly Container[], digests: Readonly<Record<string, string>>, use: number | undefined): Pinned {
  const images = Object.fromEntries(containers.map(({ name, image }) => [name, image ?? ""]));
  const resolved = targetsOf(images, digests);
  if (resolved.kind === "unresolved") return { containers, missing: resolved.missing };
  const pins = pinTargets(resolved.targets, use);
  return { containers: containers.map((container) => ({ ...container, image: pins[container.name] ?? "" })), missing: [] };
}

function metadataOf(pool: SandboxPool, template: PoolTemplate, blueprint: PodBlueprint, name: string): ObjectMeta {
  const { namespace, labels } = pool.metadata;
  const { name: templateName, version: templateVersion } = template.from ?? copiedFrom(pool);
  const poolLabels = [labelKeys.env, labelKeys.scalingGroup].flatMap((key) => (labels?.[key] === undefined ? [] : [[key, labels[key]]]));
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    labels: {
      ...blueprint.labels,
      ...(Object.fromEntries(poolLabels) as Record<string, string>),
      [labelKeys.sandboxPool]: pool.metadata.name ?? "",
      [labelKeys.sandboxPhase]: "idle",
      [labelKeys.managedBy]: managedBySandboxApiServer,
    },
    annotations: {
      ...blueprint.annotations,
      ...(templateName === undefined ? {} : { [annotationKeys.templateName]: templateName }),
      ...(templateVersion === undefined ? {} : { [annotationKeys.templateVersion]: templateVersion }),
      [annotationKeys.templateHash]: templateHash(blueprint),
      [annotationKeys.useCount]: "0",
    },
    finalizers: [finalizers.sandboxProtection],
    ownerReferences: [ownerReference(pool)],
  };
}

/** A member of an Env has a copy of its template, with the template's name. */
function copiedFrom({ metadata: { annotations } }: SandboxPool): {
  readonly name?: string | undefined;
  readonly version?: string | undefined;
} {
  return { name: annotations?.[annotationKeys.templateName], version: annotations?.[annotationKeys.templateVersion] };
}

function ownerReference({ metadata: { name, uid } }: SandboxPool): OwnerReference {
  if (name === undefined || uid === undefined) throw new Error(`pool ${name ?? ""} has no uid: it was not read from a server`);
  return { apiVersion: `${ownGroup}/${ownVersion}`, kind: "SandboxPool", name, uid, controller: true, blockOwnerDeletion: true };
}
