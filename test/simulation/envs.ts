/** The Env of a run: two pools that are sized by demand, and a plugin that may refuse. */
import type { Plugin } from "#plugins/plugin.ts";
import { type EnvAutoscalingGroup, scaleUpModes } from "#model/env-autoscaling.ts";
import type { EnvClusterMember } from "#model/env-member.ts";
import type { ConfigMap } from "#model/core-kinds.ts";
import { labelKeys } from "#model/keys.ts";
import { limitsConfigMapName } from "#model/limits.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";
import { namespace, poolTemplate } from "./pools.ts";
import type { SeededRandom } from "./random.ts";

export const envName = "grown";
export const clusterID = "simulated";
/** Its pools. Names of pods begin with the name of their pool, so none is the beginning of another. */
export const memberNames = ["first", "second"] as const;
const group = "default";

/** Short times: a run lasts minutes. */
const policies = {
  scaleUpPolicy: { cooldownSeconds: 5, idleThresholdSeconds: 5, idleZeroQuietWindowSeconds: 60, saturationCooldownSeconds: 10 },
  scaleDownPolicy: { idleTimeoutSeconds: 20, stabilizationSeconds: 10, protectionWindowSeconds: 3 },
  demand: { emptyAfterSeconds: 60 },
} as const;

/** Under steady load the number of pods changes its direction at most once in so long. */
export const swingWindowMs = (policies.scaleDownPolicy.idleTimeoutSeconds + policies.scaleDownPolicy.stabilizationSeconds) * 1000;

export function envTemplate(): SandboxTemplate {
  return { metadata: { name: envName }, spec: { version: "v1.0.0", template: poolTemplate(envName, 1) } };
}

/** Owner of the Env in runs with a quota: the other tenant has no part in it. */
export const envTeam = "red" as const;

export function aSimulatedEnv(random: SeededRandom, hasQuota: boolean): SandboxEnv {
  const mode = random.pick(scaleUpModes) ?? "Demand";
  return {
    metadata: { namespace, name: envName, ...(hasQuota && { labels: { [labelKeys.team]: envTeam } }) },
    spec: {
      templateRef: { name: envName },
      mode: "WarmPool",
      overrides: { podCreationImagePolicy: "PoolDefaultImage", defaultStartupTimeout: "60s" },
      clusters: [{ clusterID, members: memberNames.map((name, index) => ({ name, config: aMemberConfig(index, random) })) }],
      autoscaling: { groups: [{ ...aGroup(random), ...policies, scaleUpPolicy: { ...policies.scaleUpPolicy, mode } }] },
    },
  };
}

function aMemberConfig(priority: number, random: SeededRandom): NonNullable<EnvClusterMember["config"]> {
  return { scalingGroup: group, priority, minReplicas: random.between(0, 1), maxReplicas: random.between(2, 4) };
}

function aGroup(random: SeededRandom): Pick<EnvAutoscalingGroup, "name" | "enabled" | "minReplicas" | "maxReplicas"> {
  return { name: group, enabled: true, minReplicas: random.between(0, 2), maxReplicas: random.between(3, 6) };
}

/** Other bounds, in place of those that the Env has; all else stays. */
export function withOtherBounds({ spec }: SandboxEnv, random: SeededRandom): Pick<SandboxEnv["spec"], "clusters" | "autoscaling"> {
  const clusters = (spec.clusters ?? []).map((cluster) => ({
    ...cluster,
    members: (cluster.members ?? []).map((member) => ({
      ...member,
      config: { ...member.config, minReplicas: random.between(0, 1), maxReplicas: random.between(2, 4) },
    })),
  }));
  const groups = (spec.autoscaling?.groups ?? []).map((one) => ({ ...one, ...aGroup(random) }));
  return { clusters, autoscaling: { groups } };
}

/** The limits of the Env's team: so many pods of all its pools together. */
export function quotaOf(pods: number): ConfigMap {
  const data = { [`team.${envTeam}`]: JSON.stringify(Number.isFinite(pods) ? { pods } : {}) };
  return { metadata: { namespace, name: limitsConfigMapName }, data };
}

/** What the world lets the plugin say at the moment. */
export interface PluginMood {
  /** So many pods may a pool have. */
  most: number;
  isBroken: boolean;
}

export function simulatedPlugin(mood: PluginMood): Plugin {
  return {
    name: "simulated",
    preUpdatePool: async (pool) => {
      if (mood.isBroken) throw new Error("the plugin is broken");
      if (pool.spec.replicas <= mood.most) return { object: pool };
      const message = `there is room for ${mood.most} pods of a pool`;
      return { refusal: { kind: "InsufficientResources", message, wouldFit: mood.most } };
    },
  };
}

export interface Ceiling {
  readonly ofMember: ReadonlyMap<string, number>;
  /** By its own maximum and those of its members. */
  readonly ofGroup: number;
  /** By its own maximum: what members have beyond one that was lowered stays, and others may still grow. */
  readonly ofGroupAlone: number;
}

export function ceilingOf({ spec }: SandboxEnv): Ceiling {
  const members = (spec.clusters ?? []).flatMap((cluster) => cluster.members ?? []);
  const ofMember = new Map(members.map(({ name, config }) => [name, config?.maxReplicas ?? Infinity]));
  const all = [...ofMember.values()].reduce((sum, most) => sum + most, 0);
  const ofGroupAlone = spec.autoscaling?.groups?.[0]?.maxReplicas ?? Infinity;
  return { ofMember, ofGroup: Math.min(all, ofGroupAlone), ofGroupAlone };
}

/** Wanted pods of each member, as they stand on the Env. */
export function replicasIn({ spec }: SandboxEnv): ReadonlyMap<string, number> {
  const members = (spec.clusters ?? []).flatMap((cluster) => cluster.members ?? []);
  return new Map(members.flatMap(({ name, spec: own }) => (own === undefined ? [] : [[name, own.replicas] as const])));
}
