/**
 * What a pool's pods are made from: the template that it names, with the pool's own fields in front. Inside the pod template the two
 * are merged where a part has a name: labels, annotations and resources by key, containers field by field, variables, volumes and
 * runtimes as a whole entry. So a pool that wants one container to have more memory says just that.
 */
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { Container, PodSpec, PodTemplate, ResourceRequirements } from "#model/pod.ts";
import type { PodCreationImagePolicy, SandboxPool } from "#model/sandbox-pool.ts";
import type { EmbeddedSandboxTemplate } from "#model/sandbox-runtime.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";

/** All that is known of a pool's pods. */
export interface PoolTemplate extends EmbeddedSandboxTemplate {
  readonly podCreationImagePolicy: PodCreationImagePolicy;
  /** The SandboxTemplate that it came from, if it came from one. */
  readonly from?: { readonly name: string; readonly version?: string };
}

export type ResolvedTemplate =
  | { readonly kind: "template"; readonly template: PoolTemplate }
  | { readonly kind: "missing-template"; readonly name: string };

/** `named` is the SandboxTemplate of spec.templateName, undefined when there is none of that name. */
export function resolveTemplate({ spec }: Pick<SandboxPool, "spec">, named: SandboxTemplate | undefined): ResolvedTemplate {
  const { templateName } = spec;
  if (templateName === undefined) return { kind: "template", template: overlay({}, spec) };
  if (named === undefined) return { kind: "missing-template", name: templateName };
  const from = { name: templateName, ...withoutUndefined({ version: nonEmpty(named.spec.version) }) };
  return { kind: "template", template: { ...overlay(named.spec, spec), from } };
}

function overlay(base: EmbeddedSandboxTemplate, own: SandboxPool["spec"]): PoolTemplate {
  return {
    ...withoutUndefined({
      template: either(base.template, own.template, mergePodTemplates),
      idleImage: nonEmpty(own.idleImage) ?? nonEmpty(base.idleImage),
      runtimes: either(base.runtimes, own.runtimes, (left, right) => mergeNamed(left, right)),
    }),
    podCreationImagePolicy: own.podCreationImagePolicy ?? "IdleImage",
  };
}

function mergePodTemplates(base: PodTemplate, own: PodTemplate): PodTemplate {
  return {
    ...base,
    ...own,
    ...withoutUndefined({
      metadata: either(base.metadata, own.metadata, mergeMetadata),
      spec: either(base.spec, own.spec, mergeSpecs),
    }),
  };
}

type TemplateMetadata = NonNullable<PodTemplate["metadata"]>;

function mergeMetadata(base: TemplateMetadata, own: TemplateMetadata): TemplateMetadata {
  return {
    ...base,
    ...own,
    ...withoutUndefined({
      labels: either(base.labels, own.labels, mergeMaps),
      annotations: either(base.annotations, own.annotations, mergeMaps),
    }),
  };
}

/** A pool may say something about its pods without repeating the containers, so they may be missing although the type has them. */
function mergeSpecs(base: PodSpec, own: Partial<PodSpec>): PodSpec {
  return {
    ...base,
    ...own,
    containers: mergeNamed(base.containers, own.containers ?? [], mergeContainers),
    ...withoutUndefined({
      initContainers: either(base.initContainers, own.initContainers, (left, right) => mergeNamed(left, right, mergeContainers)),
      volumes: either(base.volumes, own.volumes, (left, right) => mergeNamed(left, right)),
      imagePullSecrets: either(base.imagePullSecrets, own.imagePullSecrets, (left, right) => mergeNamed(left, right)),
    }),
  };
}

function mergeContainers(base: Container, own: Container): Container {
  return {
    ...base,
    ...own,
    ...withoutUndefined({
      env: either(base.env, own.env, (left, right) => mergeNamed(left, right)),
      resources: either(base.resources, own.resources, mergeResources),
    }),
  };
}

function mergeResources(base: ResourceRequirements, own: ResourceRequirements): ResourceRequirements {
  return {
    ...base,
    ...own,
    ...withoutUndefined({
      limits: either(base.limits, own.limits, mergeMaps),
      requests: either(base.requests, own.requests, mergeMaps),
    }),
  };
}

function mergeMaps<Value>(base: Readonly<Record<string, Value>>, own: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  return { ...base, ...own };
}

/** The base's entries in their order, then those that only the other has: the first container stays the sandbox. */
function mergeNamed<Entry extends { readonly name?: string }>(
  base: readonly Entry[],
  own: readonly Entry[],
  mergeEntries: (left: Entry, right: Entry) => Entry = (_, right) => right,
): readonly Entry[] {
  const ownByName = new Map(own.map((entry) => [entry.name, entry]));
  const baseNames = new Set(base.map(({ name }) => name));
  const merged = base.map((entry) => {
    const other = ownByName.get(entry.name);
    return other === undefined ? entry : mergeEntries(entry, other);
  });
  return [...merged, ...own.filter(({ name }) => !baseNames.has(name))];
}

function either<Value>(base: Value | undefined, own: Value | undefined, merge: (base: Value, own: Value) => Value): Value | undefined {
  return base === undefined || own === undefined ? (own ?? base) : merge(base, own);
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
