/** Members and autoscaling of an Env as callers see them: what was asked for beside what was last observed. Pure. */
import { withoutUndefined } from "#lib/without-undefined.ts";
import { conditionIn } from "#model/conditions.ts";
import { envConditions } from "#model/keys.ts";
import type { EnvAutoscalingGroup } from "#model/env-autoscaling.ts";
import type { EnvClusterMemberConfig } from "#model/env-member.ts";
import type { EnvObservedMember, EnvScalingGroupStatus } from "#model/env-status.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { PoolAutoScalingStatus, SandboxPool } from "#model/sandbox-pool.ts";
import { allMembers, firstReplicas, isScaled, type PlacedMember, scalingGroupOf } from "#sandbox/envs/env-members.ts";
import { groupsOf } from "./env-parts.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import { eventsAbout, type HappenedEvent } from "#services/reading/object-events.ts";
import type { EnvDeps } from "./env-deps.ts";

export interface EnvMember {
  readonly name: string;
  readonly clusterID: string;
  /** Whether this server runs its pool. */
  readonly isLocal: boolean;
  readonly config: EnvClusterMemberConfig;
  readonly replicas: number;
  readonly replicasSetBy: "autoscaler" | "hand";
  /** Absent until the member was seen once. */
  readonly observed?: EnvObservedMember;
}

/** What says how large the groups of an Env are, and why. */
export interface EnvAutoscaling {
  /** Whether autoscaling is on and able to act. Absent until the Env was seen once. */
  readonly active?: { readonly status: string; readonly reason: string; readonly message: string };
  readonly groups: readonly EnvGroup[];
}

export interface EnvGroup {
  readonly name: string;
  /** False: replicas of its members are set by hand. */
  readonly enabled: boolean;
  /** Absent for a group that only its members name. */
  readonly policy?: EnvAutoscalingGroup;
  readonly idle: number;
  readonly running: number;
  readonly desired: number;
  readonly waiting: number;
  /** The latest decision, and why. */
  readonly decision?: string;
  readonly members: readonly EnvGroupMember[];
}

export interface EnvGroupMember {
  readonly name: string;
  readonly clusterID: string;
  readonly replicas: number;
  readonly minReplicas?: number;
  readonly maxReplicas?: number;
  readonly state?: string;
  readonly message?: string;
  readonly idle?: number;
  readonly running?: number;
  /** What the autoscaler remembers of its pool; only for pools of this server's cluster. */
  readonly autoscaling?: PoolAutoScalingStatus;
}

export function memberViews(env: SandboxEnv, clusterID: string | undefined): readonly EnvMember[] {
  return allMembers(env).map(({ clusterID: where, member }) => {
    const { name, config = {} } = member;
    return {
      name,
      clusterID: where,
      isLocal: where === clusterID,
      config,
      replicas: firstReplicas(env, member),
      replicasSetBy: isScaled(env, member) ? "autoscaler" : "hand",
      ...withoutUndefined({ observed: observedOf(env, where, name) }),
    };
  });
}

/** `pools`: those of this cluster, by name. */
export function autoscalingView(env: SandboxEnv, pools: ReadonlyMap<string, SandboxPool>): EnvAutoscaling {
  const active = conditionIn(env, envConditions.autoscalingActive);
  const names = new Set([...groupsOf(env).map(({ name }) => name), ...allMembers(env).map(({ member }) => scalingGroupOf(member))]);
  return {
    ...(active && { active: { status: active.status, reason: active.reason, message: active.message } }),
    groups: [...names].filter((name) => name !== "").map((name) => groupView(env, name, pools)),
  };
}

function groupView(env: SandboxEnv, name: string, pools: ReadonlyMap<string, SandboxPool>): EnvGroup {
  const policy = groupsOf(env).find((group) => group.name === name);
  const seen = env.status?.scalingGroups?.find((group) => group.name === name);
  const members = allMembers(env).filter(({ member }) => scalingGroupOf(member) === name);
  // The pool's own note is younger than the copy in the Env's status.
  const decisions = members.flatMap(({ member }) => pools.get(member.name)?.status?.autoscaling?.decision ?? []);
  return {
    name,
    enabled: policy?.enabled === true,
    ...totalsOf(seen),
    ...withoutUndefined({ policy, decision: decisions[0] ?? seen?.decision }),
    members: members.map((placed) => groupMemberView(env, placed, pools)),
  };
}

function totalsOf(seen: Partial<EnvScalingGroupStatus> = {}): Pick<EnvGroup, "idle" | "running" | "desired" | "waiting"> {
  const { totalIdle: idle = 0, totalRunning: running = 0, totalDesired: desired = 0, totalWaiting: waiting = 0 } = seen;
  return { idle, running, desired, waiting };
}

function groupMemberView(env: SandboxEnv, { clusterID, member }: PlacedMember, pools: ReadonlyMap<string, SandboxPool>): EnvGroupMember {
  const { name, config = {} } = member;
  const seen = observedOf(env, clusterID, name);
  return {
    name,
    clusterID,
    replicas: firstReplicas(env, member),
    ...withoutUndefined({
      minReplicas: config.minReplicas,
      maxReplicas: config.maxReplicas,
      state: seen?.state,
      message: seen?.message,
      idle: seen?.idleCount,
      running: seen?.runningCount,
      autoscaling: pools.get(name)?.status?.autoscaling,
    }),
  };
}

function observedOf({ status }: SandboxEnv, clusterID: string, name: string): EnvObservedMember | undefined {
  const cluster = status?.clusters?.find((one) => one.clusterID === clusterID);
  return cluster?.observedMembers?.find((one) => one.name === name);
}

/** What happened to an Env and its pools lately. */
export interface EnvEvent extends HappenedEvent {
  /** What it happened to. */
  readonly kind: "SandboxEnv" | "SandboxPool";
  readonly name: string;
}

const maxEvents = 500;
/** Requests to the object server at a time: an Env may have many pools. */
const atOnce = 8;

/** Newest first. */
export async function envEvents({ client, cache }: Pick<EnvDeps, "client" | "cache">, env: SandboxEnv): Promise<readonly EnvEvent[]> {
  const pools = cache.poolsOfEnv(keyOf(env)).map((object) => ({ kind: "SandboxPool" as const, object }));
  const objects = [{ kind: "SandboxEnv" as const, object: env }, ...pools];
  const events: EnvEvent[] = [];
  for (let from = 0; from < objects.length; from += atOnce) {
    const some = objects.slice(from, from + atOnce).map(async ({ kind, object }) => {
      const name = object.metadata.name ?? "";
      return (await eventsAbout({ client }, object)).map((event) => ({ ...event, kind, name }));
    });
    events.push(...(await Promise.all(some)).flat());
  }
  return events.sort((left, right) => (left.lastTime < right.lastTime ? 1 : -1)).slice(0, maxEvents);
}
