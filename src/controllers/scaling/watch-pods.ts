/**
 * Sees creates and refill times in the changes of pods: an idle pod that is claimed is a create, whichever API process made it, and one that
 * is idle again has come back; a new pod that becomes ready says how long pods take.
 */
import { envKeyOf, groupNameOf, membershipOf } from "#controllers/pool/env-membership.ts";
import { formatKey } from "#kube/controller/key.ts";
import { slotOf } from "#read-model/indexes.ts";
import { podCondition, poolOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { parseTime } from "#sandbox/annotation-values.ts";
import type { GroupMemory } from "./group-memory.ts";
import type { ScalingTools } from "./scaling-deps.ts";

/** Pods that are followed until they are ready; more are made at once only where nothing is learned from one of them. */
const maxFollowed = 10_000;
/** A pod that was there before it was first seen says nothing about how long pods take. */
const newMs = 5_000;

/** Returns what ends it. */
export function watchPods(tools: ScalingTools): () => void {
  const firstSeenMs = new Map<string, number>();
  /** By pod that is out: when its request arrived, as the forecast has booked it. */
  const arrivedAtMs = new Map<string, number>();
  const connection = tools.cache.pods.onChange((now, before) => {
    const uid = (now ?? before)?.metadata.uid ?? "";
    if (now === undefined || now.metadata.deletionTimestamp !== undefined) {
      firstSeenMs.delete(uid);
      arrivedAtMs.delete(uid);
      return;
    }
    const memory = memoryOf(tools, now);
    if (memory === undefined) return;
    if (before !== undefined && isClaim(before, now)) arrivedAtMs.set(uid, noteCreate(tools, memory, now));
    noteReturn(memory, arrivedAtMs, now);
    if (before === undefined) noteNew(tools, firstSeenMs, now);
    noteReady(tools, memory, firstSeenMs, now);
  });
  return () => connection.remove();
}

function noteNew({ clock }: ScalingTools, firstSeenMs: Map<string, number>, pod: Pod): void {
  if (isNew(pod, clock.now()) && firstSeenMs.size < maxFollowed) firstSeenMs.set(pod.metadata.uid ?? "", clock.now());
}

function noteReady({ clock }: ScalingTools, memory: GroupMemory, firstSeenMs: Map<string, number>, pod: Pod): void {
  const uid = pod.metadata.uid ?? "";
  const sinceMs = firstSeenMs.get(uid);
  if (sinceMs === undefined || !isReady(pod)) return;
  firstSeenMs.delete(uid);
  memory.refill.took(clock.now() - sinceMs, sinceMs);
}

/** Pools of Envs with an enabled group only. */
function memoryOf({ cache, clusterID, memories }: ScalingTools, pod: Pod): GroupMemory | undefined {
  const pool = poolOfPod(cache, pod);
  const env = pool === undefined ? undefined : envKeyOf(pool);
  if (pool === undefined || env === undefined) return undefined;
  const membership = membershipOf(cache, pool, clusterID);
  return membership?.group?.enabled === true ? memories.of(env, groupNameOf(membership.member)) : undefined;
}

export function poolOfPod({ pools }: Pick<ScalingTools["cache"], "pools">, pod: Pod): SandboxPool | undefined {
  const name = poolOf(pod);
  return name === undefined ? undefined : pools.objects.get({ namespace: pod.metadata.namespace, name });
}

/** Returns when the arrival is booked. */
function noteCreate({ clock }: ScalingTools, memory: GroupMemory, pod: Pod): number {
  memory.createdAtMs.set(formatKey({ namespace: pod.metadata.namespace, name: poolOf(pod) ?? "" }), clock.now());
  return memory.arrivals.arrived(clock.now());
}

function noteReturn(memory: GroupMemory, arrivedAtMs: Map<string, number>, pod: Pod): void {
  const uid = pod.metadata.uid ?? "";
  const atMs = arrivedAtMs.get(uid);
  if (atMs === undefined || slotOf(pod) !== "idle") return;
  arrivedAtMs.delete(uid);
  memory.arrivals.returned(atMs);
}

function isClaim(before: Pod, now: Pod): boolean {
  const slot = slotOf(now);
  return slotOf(before) === "idle" && (slot === "starting" || slot === "running");
}

function isNew({ metadata: { creationTimestamp } }: Pod, nowMs: number): boolean {
  return nowMs - (parseTime(creationTimestamp) ?? 0) < newMs;
}

function isReady(pod: Pod): boolean {
  return podCondition(pod, "Ready")?.status === "True";
}
