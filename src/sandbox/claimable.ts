/** Whether an idle pod may be handed out. Choosing a pod and claiming it ask the same question here, so that they cannot disagree. */
import { podCondition, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import { isFrozen, pauseWish } from "#model/pause.ts";
import type { Pod } from "#model/pod.ts";
import { parseCount } from "./annotation-values.ts";
import { readInplaceUpdateState } from "./images/inplace-state.ts";

/** All of them mean: try the next pod. */
export type NotClaimable = "terminating" | "not-idle" | "not-ready" | "not-fresh";

/** Undefined for a pod that may be claimed. */
export function whyNotClaimable(pod: Pod): NotClaimable | undefined {
  if (pod.metadata.deletionTimestamp !== undefined || pod.metadata.annotations?.[annotationKeys.leaving] !== undefined)
    return "terminating";
  if (sandboxPhaseOf(pod) !== "idle") return "not-idle";
  if (!isAnswering(pod)) return "not-ready";
  return isFresh(pod) ? undefined : "not-fresh";
}

/**
 * No sandbox has used the pod's containers since they started: the pod is new, or a completed recycling says so. A pod that only has the idle label (W1)
 * may still run processes of its last user.
 */
export function isFresh(pod: Pod): boolean {
  if (sandboxIdOf(pod) !== undefined || useCountOf(pod) === undefined) return false;
  const read = readInplaceUpdateState(pod);
  if (read.kind === "none") return useCountOf(pod) === 0;
  return read.kind === "state" && read.state.phase === "completed" && read.state.targetPodPhase === "idle";
}

/** How many sandboxes the pod has carried. Undefined when the annotation cannot be read: then no text for an image is known to be new. */
export function useCountOf(pod: Pod): number | undefined {
  const text = pod.metadata.annotations?.[annotationKeys.useCount];
  return text === undefined ? 0 : parseCount(text);
}

/** What `read-model/sandbox-checkers.ts` calls ready: the pod runs, is awake, answers, and has an address. */
function isAnswering(pod: Pod): boolean {
  const { phase, podIP } = pod.status ?? {};
  if (phase !== "Running" || podIP === undefined || podIP === "") return false;
  return podCondition(pod, "Ready")?.status === "True" && pauseWish(pod) === undefined && !isFrozen(pod);
}
