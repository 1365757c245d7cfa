/**
 * Pools that were there before their Env: the Env that is made for such a pool, and how the two are kept equal. Pure.
 *
 * The Env remembers the pool's generation when they were last equal. If the pool has another one since, the pool was changed, and the Env
 * follows it; else the Env was changed, and the pool follows. Pods are not touched by any of this: the pool's own template stays its own.
 */
import { isDeepStrictEqual } from "node:util";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { EnvClusterMember } from "#model/env-member.ts";
import { annotationKeys, hasEnvOwner, labelKeys } from "#model/keys.ts";
import type { ResourceRequirements } from "#model/pod.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool, SandboxPoolSpec } from "#model/sandbox-pool.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";
import { isAdopting, isOwnedBy, membersIn, type PlacedMember, scalingGroupOf } from "#sandbox/envs/env-members.ts";
import { resolveTemplate } from "#sandbox/pools/resolve-template.ts";

export interface AdoptionFacts {
  readonly pool: SandboxPool | undefined;
  /** Of the pool's name. */
  readonly env: SandboxEnv | undefined;
  /** That the pool names. */
  readonly template: SandboxTemplate | undefined;
  readonly clusterID: string;
  /** Pools that do not say anything are adopted too. */
  readonly adoptPools: boolean;
}

export type AdoptionStep =
  | { readonly kind: "nothing" }
  /** The pool would be adopted, and another Env has its name. */
  | { readonly kind: "name-taken" }
  | { readonly kind: "make-env"; readonly env: SandboxEnv }
  /** The pool is gone, and its Env goes with it. */
  | { readonly kind: "delete-env"; readonly env: SandboxEnv }
  /** Labels and owner reference of the pool. */
  | { readonly kind: "mark-pool"; readonly env: SandboxEnv; readonly labels: Readonly<Record<string, string | null>> }
  | { readonly kind: "pool-follows"; readonly pool: SandboxPool }
  | { readonly kind: "env-follows"; readonly env: SandboxEnv; readonly placed: PlacedMember; readonly member: EnvClusterMember }
  | { readonly kind: "note-generation"; readonly env: SandboxEnv };

const nothing = { kind: "nothing" } as const;

export function planAdoption(facts: AdoptionFacts): AdoptionStep {
  const { pool, env } = facts;
  if (env === undefined) return pool !== undefined && isWished(pool, facts) ? { kind: "make-env", env: envFor(pool, facts) } : nothing;
  if (env.metadata.deletionTimestamp !== undefined) return nothing;
  if (!isAdopting(env)) return pool !== undefined && isWished(pool, facts) ? { kind: "name-taken" } : nothing;
  const placed = membersIn(env, facts.clusterID).find(({ member }) => member.name === env.metadata.name);
  // Without its member the Env controller gives the pool back.
  if (placed === undefined) return nothing;
  if (pool === undefined) return membersIn(env, facts.clusterID).length === 1 ? { kind: "delete-env", env } : nothing;
  if (pool.metadata.deletionTimestamp !== undefined) return nothing;
  return align(facts, { env, pool, placed });
}

interface Pair {
  readonly env: SandboxEnv;
  readonly pool: SandboxPool;
  readonly placed: PlacedMember;
}

function align(facts: AdoptionFacts, { env, pool, placed }: Pair): AdoptionStep {
  const labels = wantedLabels(env, placed.member);
  const isMarked = Object.entries(labels).every(([key, value]) => (pool.metadata.labels?.[key] ?? null) === value);
  if (!isOwnedBy(pool, env) || !isMarked) return { kind: "mark-pool", env, labels };
  const { member } = placed;
  const isNoted = env.metadata.annotations?.[annotationKeys.adoptedGeneration] === String(pool.metadata.generation ?? 0);
  const wanted = memberFor(pool, facts, member);
  if (isDeepStrictEqual(member.spec, pool.spec) && isDeepStrictEqual(member.config, wanted.config)) {
    return isNoted ? nothing : { kind: "note-generation", env };
  }
  if (isNoted && member.spec !== undefined && !isDeepStrictEqual(member.spec, pool.spec) && isWhole(member.spec)) {
    return { kind: "pool-follows", pool: { ...pool, spec: member.spec } };
  }
  return { kind: "env-follows", env, placed, member: wanted };
}

/** A snapshot, and not only what a file says of one. */
function isWhole({ template, templateName }: SandboxPoolSpec): boolean {
  return template !== undefined || templateName !== undefined;
}

function isWished(pool: SandboxPool, { adoptPools }: AdoptionFacts): boolean {
  if (pool.metadata.deletionTimestamp !== undefined || hasEnvOwner(pool)) return false;
  const wish = pool.metadata.annotations?.[annotationKeys.adopt];
  return wish === "true" || (adoptPools && wish !== "false");
}

function wantedLabels({ metadata: { name = "" } }: SandboxEnv, member: EnvClusterMember): Readonly<Record<string, string | null>> {
  const group = scalingGroupOf(member);
  return { [labelKeys.env]: name, [labelKeys.scalingGroup]: group === "" ? null : group };
}

function envFor(pool: SandboxPool, facts: AdoptionFacts): SandboxEnv {
  const { namespace = "", name = "", labels = {}, annotations = {}, generation = 0 } = pool.metadata;
  const owner = withoutUndefined({ [labelKeys.team]: labels[labelKeys.team], [labelKeys.user]: labels[labelKeys.user] });
  const template = pool.spec.templateName ?? annotations[annotationKeys.templateName] ?? name;
  return {
    metadata: {
      namespace,
      name,
      ...(Object.keys(owner).length > 0 && { labels: owner }),
      annotations: { [annotationKeys.adoptedGeneration]: String(generation) },
    },
    spec: {
      templateRef: { name: template },
      mode: "WarmPool",
      clusters: [{ clusterID: facts.clusterID, members: [memberFor(pool, facts, { name })] }],
    },
  };
}

/** The pool as it is. Its resources stand in the config too, for people; they come from the pool. */
function memberFor(pool: SandboxPool, { template }: AdoptionFacts, { name, config = {} }: EnvClusterMember): EnvClusterMember {
  const { inlineResources: _, ...others } = config;
  const resources = resourcesOf(pool, template);
  const scalingGroup = config.scalingGroup ?? "default";
  return { name, spec: pool.spec, config: { ...others, ...(resources !== undefined && { inlineResources: resources }), scalingGroup } };
}

function resourcesOf(pool: SandboxPool, template: SandboxTemplate | undefined): ResourceRequirements | undefined {
  const resolved = resolveTemplate(pool, template);
  if (resolved.kind === "missing-template") return pool.spec.template?.spec?.containers?.[0]?.resources;
  return resolved.template.template?.spec?.containers?.[0]?.resources;
}
