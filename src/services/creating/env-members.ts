/** What an Env says of a member pool: its size, its group, and how far it may grow. Pure; read once for each version of an Env. */
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { EnvAutoscalingGroup } from "#model/env-autoscaling.ts";
import type { EnvClusterMemberConfig } from "#model/env-member.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import { quantityNumber } from "#model/quantity.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { MemberTraits } from "#scheduling/route-to-pools.ts";
import type { PoolSize } from "#services/pools/pool-size.ts";

export interface MemberPool extends MemberTraits {
  readonly object: SandboxPool;
}

/** `sizeOf` is left out where the request does not choose by size: to know a size, a template has to be read. */
export function memberPool(env: SandboxEnv | undefined, pool: SandboxPool, sizeOf?: (pool: SandboxPool) => PoolSize): MemberPool {
  const { namespace = "", name = "", labels, annotations, deletionTimestamp } = pool.metadata;
  const { instanceType, multiplier } = memberConfig(env, name) ?? {};
  const { cpu, memory } = sizeOf?.(pool) ?? {};
  return {
    object: pool,
    pool: { namespace, name },
    isDeleting: deletionTimestamp !== undefined,
    ...withoutUndefined({
      instanceType: instanceType === "" ? undefined : instanceType,
      multiplier,
      scalingGroup: labels?.[labelKeys.scalingGroup],
      version: annotations?.[annotationKeys.templateVersion],
      cpu: quantityNumber(cpu),
      memory: quantityNumber(memory),
    }),
  };
}

export function priorityOf(env: SandboxEnv | undefined, poolName: string): number {
  return memberConfig(env, poolName)?.priority ?? 0;
}

/** How far a pool may grow for requests that wait. */
export type Growth =
  | { readonly kind: "grows"; readonly memberMax: number; readonly groupMax: number; readonly group: string }
  /** Its number is set by hand; `why` says what does not let it grow. */
  | { readonly kind: "fixed"; readonly why: "no-env" | "env-deleted" | "no-group" | "group-disabled"; readonly group: string };

export function growthOf(env: SandboxEnv | undefined, { metadata: { name = "", labels } }: SandboxPool): Growth {
  const group = labels?.[labelKeys.scalingGroup] ?? "";
  if (env === undefined) return { kind: "fixed", why: "no-env", group };
  if (env.metadata.deletionTimestamp !== undefined) return { kind: "fixed", why: "env-deleted", group };
  if (!mayGrow(env, group)) return { kind: "fixed", why: group === "" ? "no-group" : "group-disabled", group };
  const memberMax = memberConfig(env, name)?.maxReplicas ?? Infinity;
  const groupMax = viewOf(env).groups.get(group)?.maxReplicas ?? Infinity;
  return { kind: "grows", memberMax, groupMax, group };
}

/** An Env without stock has pods for waiting requests and no others. */
function mayGrow(env: SandboxEnv, group: string): boolean {
  return env.spec.mode === "OnDemandJob" || viewOf(env).groups.get(group)?.enabled === true;
}

interface EnvView {
  readonly members: ReadonlyMap<string, EnvClusterMemberConfig>;
  readonly groups: ReadonlyMap<string, EnvAutoscalingGroup>;
}

/** Objects of the cache are never changed, only replaced. */
const views = new WeakMap<SandboxEnv, EnvView>();

function viewOf(env: SandboxEnv): EnvView {
  const known = views.get(env);
  if (known !== undefined) return known;
  const { clusters = [], autoscaling } = env.spec;
  const local = env.status?.clusters?.find(({ isLocal }) => isLocal === true)?.clusterID;
  // The same name may stand in several clusters; the pools that are seen here are those of this one.
  const own = local === undefined ? clusters : clusters.filter(({ clusterID }) => clusterID === local);
  const view = {
    members: new Map(own.flatMap(({ members = [] }) => members.map(({ name, config = {} }) => [name, config] as const))),
    groups: new Map((autoscaling?.groups ?? []).map((group) => [group.name, group])),
  };
  views.set(env, view);
  return view;
}

function memberConfig(env: SandboxEnv | undefined, poolName: string): EnvClusterMemberConfig | undefined {
  return env === undefined ? undefined : viewOf(env).members.get(poolName);
}
