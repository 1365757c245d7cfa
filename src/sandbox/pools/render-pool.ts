/**
 * The pool of an Env's member, from the Env, the member and the template. Pure. Layers, later ones win: the template; the Env's overrides;
 * the member's resources, of the first container; the member's labels and annotations; the labels and annotations that belong to AgentBox;
 * and where the Env's mode is OnDemandJob, pods for one use and no replicas. The template is embedded: a new version of it does not reach the pool by itself.
 */
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { EnvClusterMember } from "#model/env-member.ts";
import { type InstanceType, resourcesOf } from "#model/instance-types.ts";
import { annotationKeys, isReservedKey, labelKeys, onDemandRecyclePolicy } from "#model/keys.ts";
import type { Container, PodSpec, PodTemplate, ResourceRequirements } from "#model/pod.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPoolSpec } from "#model/sandbox-pool.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";
import { firstReplicas, isOnDemand, scalingGroupOf } from "#sandbox/envs/env-members.ts";
import { syncAnnotationsFromTemplate, syncLabelsFromTemplate } from "./sync-from-template.ts";
import { stableJson } from "./template-hash.ts";

type StringMap = Readonly<Record<string, string>>;

export interface PoolParts {
  readonly env: SandboxEnv;
  readonly member: EnvClusterMember;
  readonly template: SandboxTemplate;
  /** Of the member's config; undefined when it names none. */
  readonly instanceType?: InstanceType | undefined;
  /** Name of the Secret with the Env's registry credentials, where there is one. */
  readonly pullSecret?: string | undefined;
}

export interface RenderedPool {
  readonly metadata: { readonly labels: StringMap; readonly annotations: StringMap };
  readonly spec: SandboxPoolSpec;
}

export function renderPool(parts: PoolParts): RenderedPool {
  const { env, member, template } = parts;
  const { config = {} } = member;
  const { image, ...overrides } = env.spec.overrides ?? {};
  return {
    metadata: {
      labels: { ...syncLabelsFromTemplate({}, template.metadata.labels), ...ofUser(config.labels), ...ownLabels(env, member) },
      annotations: {
        ...syncAnnotationsFromTemplate({}, template.metadata.annotations),
        ...ofUser(config.annotations),
        ...ownAnnotations(env, member, template),
      },
    },
    spec: {
      ...withoutUndefined({
        idleImage: template.spec.idleImage,
        runtimes: template.spec.runtimes,
        template: template.spec.template && renderTemplate(template.spec.template, image, parts),
        ...overrides,
      }),
      replicas: firstReplicas(env, member),
    },
  };
}

/** Set on the live pool at any time, whatever the member's snapshot says: they follow from the Env as it is now. */
export function ownLabels({ metadata }: SandboxEnv, member: EnvClusterMember): StringMap {
  const group = scalingGroupOf(member);
  return withoutUndefined({
    [labelKeys.env]: metadata.name,
    [labelKeys.scalingGroup]: group === "" ? undefined : group,
    [labelKeys.team]: metadata.labels?.[labelKeys.team],
    [labelKeys.user]: metadata.labels?.[labelKeys.user],
  });
}

function ownAnnotations(env: SandboxEnv, member: EnvClusterMember, template: SandboxTemplate): StringMap {
  const version = template.spec.version === "" ? undefined : template.spec.version;
  return withoutUndefined({
    [annotationKeys.templateName]: template.metadata.name ?? env.spec.templateRef.name,
    [annotationKeys.templateVersion]: version,
    [annotationKeys.overrides]: formatOverrides(env, member),
  });
}

/**
 * What a pool has instead of the template's values, as JSON: annotation `overrides`. The same choices are the same text, so that a member
 * whose config has changed since its pool was rendered can be told from one whose config has not.
 */
export function formatOverrides(env: Pick<SandboxEnv, "spec">, { config = {} }: EnvClusterMember): string {
  const { instanceType, multiplier, inlineResources } = config;
  const isTyped = instanceType !== undefined && instanceType !== "";
  const chosen = {
    ...env.spec.overrides,
    mode: isOnDemand(env) ? env.spec.mode : undefined,
    ...(isTyped ? { instanceType, multiplier } : { inlineResources: isEmpty(inlineResources) ? undefined : inlineResources }),
    labels: isEmpty(config.labels) ? undefined : config.labels,
    annotations: isEmpty(config.annotations) ? undefined : config.annotations,
  };
  return stableJson(chosen);
}

/** The resources that `extra` names are its own, both limit and request; a half from each would contradict each other. */
export function overlayResources(base: ResourceRequirements = {}, extra: ResourceRequirements = {}): ResourceRequirements {
  const named = new Set([...Object.keys(extra.limits ?? {}), ...Object.keys(extra.requests ?? {})]);
  const overlay = (kept: ResourceRequirements["limits"], own: ResourceRequirements["limits"]): ResourceRequirements["limits"] => {
    const all = { ...Object.fromEntries(Object.entries(kept ?? {}).filter(([name]) => !named.has(name))), ...own };
    return Object.keys(all).length === 0 ? undefined : all;
  };
  return withoutUndefined({ limits: overlay(base.limits, extra.limits), requests: overlay(base.requests, extra.requests) });
}

function renderTemplate(template: PodTemplate, image: string | undefined, parts: PoolParts): PodTemplate {
  if (template.spec === undefined) return template;
  const rendered = { ...template, spec: renderSpec(template.spec, image, parts) };
  if (!isOnDemand(parts.env)) return rendered;
  const annotations = { ...template.metadata?.annotations, [annotationKeys.recyclePolicy]: onDemandRecyclePolicy };
  return { ...rendered, metadata: { ...template.metadata, annotations } };
}

function renderSpec(spec: PodSpec, image: string | undefined, { member, instanceType, pullSecret }: PoolParts): PodSpec {
  const [first, ...others] = spec.containers;
  const { multiplier = 1, inlineResources } = member.config ?? {};
  const resources = instanceType === undefined ? inlineResources : resourcesOf(instanceType, multiplier);
  const nodeSelector = instanceType?.nodeSelector;
  return {
    ...spec,
    containers: first === undefined ? spec.containers : [renderContainer(first, image, resources), ...others],
    ...(pullSecret !== undefined && { imagePullSecrets: withSecret(spec.imagePullSecrets, pullSecret) }),
    ...(!isEmpty(nodeSelector) && { nodeSelector: { ...spec.nodeSelector, ...nodeSelector } }),
  };
}

/** A snapshot that names the Env's credentials too. */
export function withPullSecret(spec: SandboxPoolSpec, secret: string): SandboxPoolSpec {
  const pod = spec.template?.spec;
  if (pod === undefined) return spec;
  return { ...spec, template: { ...spec.template, spec: { ...pod, imagePullSecrets: withSecret(pod.imagePullSecrets, secret) } } };
}

function withSecret(secrets: PodSpec["imagePullSecrets"] = [], secret: string): NonNullable<PodSpec["imagePullSecrets"]> {
  return secrets.some(({ name }) => name === secret) ? secrets : [...secrets, { name: secret }];
}

function renderContainer(container: Container, image: string | undefined, resources: ResourceRequirements | undefined): Container {
  return {
    ...container,
    ...(image !== undefined && image !== "" && { image }),
    ...(!isEmpty(resources) && { resources: overlayResources(container.resources, resources) }),
  };
}

/** Whatever a user sends under a key of ours must not reach an object. */
function ofUser(map: StringMap = {}): StringMap {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !isReservedKey(key)));
}

function isEmpty(value: object | undefined): boolean {
  return value === undefined || Object.keys(value).length === 0;
}
