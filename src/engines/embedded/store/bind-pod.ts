import type { ObjectKey } from "#kube/object-client.ts";
import { kubernetesTime } from "#lib/clock.ts";
import { Pods, type Pod, type PodCondition } from "#model/pod.ts";
import { storeKey } from "./keys.ts";
import { conflict, notFound } from "./refusals.ts";
import type { StoreState } from "./store-state.ts";

/** Gives a pod its node, as the binding subresource does: once, and by no other write. */
export function bindPod(state: StoreState, at: ObjectKey, nodeName: string): void {
  const table = state.table(Pods);
  const key = storeKey(Pods, at);
  const pod = table.get(key) as Pod | undefined; // The table of pods holds pods.
  if (pod === undefined) throw notFound(Pods, at.name);
  if (pod.metadata.deletionTimestamp !== undefined) {
    throw conflict(Pods, at.name, `pod ${at.name} is being deleted, cannot be assigned to a host`);
  }
  if (pod.spec.nodeName !== undefined) {
    throw conflict(Pods, at.name, `pod ${at.name} is already assigned to node "${pod.spec.nodeName}"`);
  }
  const conditions = scheduled(pod.status?.conditions ?? [], kubernetesTime(state.clock.now()));
  const object: Pod = { ...pod, spec: { ...pod.spec, nodeName }, status: { ...pod.status, conditions } };
  state.commit({ table, key, object });
}

function scheduled(conditions: readonly PodCondition[], at: string): PodCondition[] {
  const others = conditions.filter((condition) => condition.type !== "PodScheduled");
  return [...others, { type: "PodScheduled", status: "True", lastProbeTime: null, lastTransitionTime: at }];
}
