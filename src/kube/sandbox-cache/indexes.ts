/** Every index of the sandbox cache. The cache and its tests take them from here, and nothing else defines one. */
import type { Index } from "#kube/informer/indexed-store.ts";
import { type Checkpoint, Checkpoints } from "#model/checkpoint.ts";
import { isResting, podCondition, poolOf, sandboxIdOf, sandboxPhaseOf, userOf } from "#model/claimed-pod.ts";
import type { SandboxPhase } from "#model/keys.ts";
import type { ApiObject } from "#model/meta.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";

/**
 * Where a pod stands in its pool: its phase, or that it is being deleted. A pod that goes is nobody's to claim and no replica,
 * whatever its phase was; leaving it among the idle ones would put dead pods in front of whoever takes the first.
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

/** How far pods are whose sandbox has ended: resting, or getting new containers. */
export type RenewalStage = "resting" | "renewing";

/** The value of a node's pods in podsByRenewal. */
export function renewalValue(nodeName: string, stage: RenewalStage): string {
  return `${stage}/${nodeName}`;
}

/** By node, the longest in its stage first. */
export const podsByRenewal: Index<Pod> = {
  name: "pods by renewal",
  type: Pods,
  extract: (pod) => {
    if (poolOf(pod) === undefined || slotOf(pod) !== "stopping") return [];
    return [renewalValue(pod.spec.nodeName ?? "", isResting(pod) ? "resting" : "renewing")];
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

/** Pools that name a SandboxTemplate, by its name. */
export const poolsByTemplateName: Index<SandboxPool> = {
  name: "pools by template name",
  type: SandboxPools,
  extract: ({ spec }) => some(spec.templateName),
};

export const podIndexes: readonly Index<Pod>[] = [podsByPoolAndSlot, readyIdlePods, podsByRenewal, podsBySandboxId, podsByUser];
export const checkpointIndexes: readonly Index<Checkpoint>[] = [checkpointsById, checkpointsByUser];
export const poolIndexes: readonly Index<SandboxPool>[] = [poolsByTemplateId, poolsByTemplateName];

function isReady(pod: Pod): boolean {
  return podCondition(pod, "Ready")?.status === "True";
}

function byUser(object: ApiObject): readonly string[] {
  return some(userOf(object));
}

function some(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [value];
}
