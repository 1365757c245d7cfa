/** How a pod says that it carries a sandbox. A live sandbox is a pod with an id and one of two phases, as it is shown with its claim (shown-pod.ts). */
import { annotationKeys, labelKeys, type SandboxPhase, sandboxPhases } from "./keys.ts";
import type { ApiObject } from "./meta.ts";
import type { Pod, PodCondition } from "./pod.ts";

/** The pod's phase in its life as a sandbox; undefined for a pod that is none of ours, or says something we do not know. */
export function sandboxPhaseOf(pod: Pick<Pod, "metadata">): SandboxPhase | undefined {
  const phase = pod.metadata.labels?.[labelKeys.sandboxPhase];
  return sandboxPhases.find((known) => known === phase);
}

/** The id of the sandbox on the pod. A pod that is being recycled keeps the id until its history is written. */
export function sandboxIdOf(pod: Pod): string | undefined {
  return nonEmpty(pod.metadata.labels?.[labelKeys.sandboxId]);
}

/**
 * True while the pod carries a live sandbox. A pod that is stopping still shows the id, but its sandbox has ended:
 * the same id may already run elsewhere, resumed from a checkpoint.
 */
export function isClaimed(pod: Pod): boolean {
  const phase = sandboxPhaseOf(pod);
  return sandboxIdOf(pod) !== undefined && (phase === "starting" || phase === "running");
}

/** Its sandbox has ended and nothing of it runs any more; its containers are renewed when its node has time for it. */
export function isResting(pod: Pick<Pod, "metadata">): boolean {
  return sandboxPhaseOf(pod) === "stopping" && pod.metadata.annotations?.[annotationKeys.restsSince] !== undefined;
}

export function poolOf(pod: Pod): string | undefined {
  return nonEmpty(pod.metadata.labels?.[labelKeys.sandboxPool]);
}

/** The user that owns the object. */
export function userOf(object: ApiObject): string | undefined {
  return nonEmpty(object.metadata.labels?.[labelKeys.user]);
}

export function podCondition(pod: Pick<Pod, "status">, type: string): PodCondition | undefined {
  return pod.status?.conditions?.find((condition) => condition.type === type);
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
