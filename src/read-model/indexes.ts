/** Every index of the sandbox cache. The cache and its tests take them from here, and nothing else defines one. */
import type { Index } from "#kube/informer/indexed-store.ts";
import { type Checkpoint, Checkpoints } from "#model/checkpoint.ts";
import { isResting, podCondition, poolOf, sandboxIdOf, sandboxPhaseOf, userOf } from "#model/claimed-pod.ts";
import { annotationKeys, labelKeys, type SandboxPhase } from "#model/keys.ts";
import type { ApiObject } from "#model/meta.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";

/**
 * Where a pod stands in its pool: its phase, or that it is being deleted. A pod that is being deleted cannot be claimed and is no
 * replica, whatever its phase was; among the idle pods it would be offered to claims.
 */
export type PoolSlot = SandboxPhase | "terminating" | "unknown";

export function slotOf(pod: Pod): PoolSlot {
  return pod.metadata.deletionTimestamp === undefined ? (sandboxPhaseOf(pod) ?? "unknown") : "terminating";
}

export interface SlotInPool {
  readonly namespace: string;
  readonly pool: string;
  readonly slot: PoolSlot;
}

/** The value of a slot in podsByPoolAndSlot. */
export function slotValue({ namespace, pool, slot }: SlotInPool): string {
  return `${namespace}/${pool}/${slot}`;
}

/** The value of a pool in readyIdlePods. */
export function poolValue({ namespace, pool }: Omit<SlotInPool, "slot">): string {
  return `${namespace}/${pool}`;
}

/** The longest in its slot comes first. */
export const podsByPoolAndSlot: Index<Pod> = {
  name: "pods by pool and slot",
  type: Pods,
  extract: (pod) => {
    const pool = poolOf(pod);
    return pool === undefined ? [] : [slotValue({ namespace: pod.metadata.namespace ?? "", pool, slot: slotOf(pod) })];
  },
};

/** Idle pods that are Ready, by their pool, the longest ready first: a stuck pod is never in front of those that could be claimed. */
export const readyIdlePods: Index<Pod> = {
  name: "ready idle pods",
  type: Pods,
  extract: (pod) => {
    const pool = poolOf(pod);
    return pool === undefined || slotOf(pod) !== "idle" || !isReady(pod)
      ? []
      : [poolValue({ namespace: pod.metadata.namespace ?? "", pool })];
  },
};

/** Pods that wait for a node because the scheduler has found none, by their pool. */
export const unschedulablePods: Index<Pod> = {
  name: "unschedulable pods",
  type: Pods,
  extract: (pod) => {
    const pool = poolOf(pod);
    const { status, reason } = podCondition(pod, "PodScheduled") ?? {};
    return pool === undefined || status !== "False" || reason !== "Unschedulable" || pod.metadata.deletionTimestamp !== undefined
      ? []
      : [poolValue({ namespace: pod.metadata.namespace ?? "", pool })];
  },
};

/** The stage of a pod after its sandbox has ended: resting, or getting new containers. */
export type RecyclingStage = "resting" | "recycling";

/** The value of a node's pods in podsByRecycling. */
export function recyclingValue(nodeName: string, stage: RecyclingStage): string {
  return `${stage}/${nodeName}`;
}

/** By node, the longest in its stage first. */
export const podsByRecycling: Index<Pod> = {
  name: "pods by recycling",
  type: Pods,
  extract: (pod) => {
    if (poolOf(pod) === undefined || slotOf(pod) !== "stopping") return [];
    return [recyclingValue(pod.spec.nodeName ?? "", isResting(pod) ? "resting" : "recycling")];
  },
};

/** Also pods whose sandbox has ended and that still show its id. */
export const podsBySandboxId: Index<Pod> = { name: "pods by sandbox id", type: Pods, extract: (pod) => some(sandboxIdOf(pod)) };

export const podsByUser: Index<Pod> = { name: "pods by user", type: Pods, extract: byUser };

export const checkpointsByUser: Index<Checkpoint> = { name: "checkpoints by user", type: Checkpoints, extract: byUser };

export const checkpointsById: Index<Checkpoint> = {
  name: "checkpoints by id",
  type: Checkpoints,
  extract: ({ status }) => some(status?.checkpointId === "" ? undefined : status?.checkpointId),
};

/** A pool's name is the template id that a client asks for; the same name may stand in several namespaces. */
export const poolsByTemplateId: Index<SandboxPool> = {
  name: "pools by template id",
  type: SandboxPools,
  extract: ({ metadata }) => some(metadata.name),
};

/** The value of an Env in poolsByEnv. */
export function envValue({ namespace = "", name }: { readonly namespace?: string | undefined; readonly name: string }): string {
  return `${namespace}/${name}`;
}

/** Member pools, by the Env that their label names. */
export const poolsByEnv: Index<SandboxPool> = {
  name: "pools by Env",
  type: SandboxPools,
  extract: ({ metadata: { namespace, labels } }) => {
    const env = labels?.[labelKeys.env];
    return env === undefined ? [] : [envValue({ namespace, name: env })];
  },
};

/** Pools, by the team that owns them. */
export const poolsByTeam: Index<SandboxPool> = {
  name: "pools by team",
  type: SandboxPools,
  extract: ({ metadata: { labels } }) => some(labels?.[labelKeys.team] === "" ? undefined : labels?.[labelKeys.team]),
};

/** Envs, by the name of their SandboxTemplate. */
export const envsByTemplateName: Index<SandboxEnv> = {
  name: "Envs by template name",
  type: SandboxEnvs,
  extract: ({ spec }) => [spec.templateRef.name],
};

/** Envs, by the names of their members in any cluster: the value is that of envValue, with the member's name. */
export const envsByMember: Index<SandboxEnv> = {
  name: "Envs by member",
  type: SandboxEnvs,
  extract: ({ metadata: { namespace }, spec }) => {
    const names = (spec.clusters ?? []).flatMap(({ members = [] }) => members.map(({ name }) => envValue({ namespace, name })));
    return [...new Set(names)];
  },
};

/** Pools that name a SandboxTemplate, or were rendered from one for an Env, by its name. */
export const poolsByTemplateName: Index<SandboxPool> = {
  name: "pools by template name",
  type: SandboxPools,
  extract: ({ metadata: { annotations }, spec }) => some(spec.templateName ?? annotations?.[annotationKeys.templateName]),
};

export const podIndexes: readonly Index<Pod>[] = [
  podsByPoolAndSlot,
  readyIdlePods,
  unschedulablePods,
  podsByRecycling,
  podsBySandboxId,
  podsByUser,
];
export const checkpointIndexes: readonly Index<Checkpoint>[] = [checkpointsById, checkpointsByUser];
export const poolIndexes: readonly Index<SandboxPool>[] = [poolsByTemplateId, poolsByTemplateName, poolsByEnv, poolsByTeam];
export const envIndexes: readonly Index<SandboxEnv>[] = [envsByTemplateName, envsByMember];

function isReady(pod: Pod): boolean {
  return podCondition(pod, "Ready")?.status === "True";
}

function byUser(object: ApiObject): readonly string[] {
  return some(userOf(object));
}

function some(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [value];
}
