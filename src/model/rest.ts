/**
 * Rest of a pod after its sandbox has ended (ADR 49): nothing of the sandbox runs any more, and its container is exchanged later. A wanted
 * state and an answer, as for pausing (pause.ts):
 *
 * - Wanted is the annotation `agentbox.navix.sh/rests-since` on a pod that is stopping: the RFC 3339 time of the end.
 * - The answer is the pod condition `agentbox.navix.sh/AtRest`, written by a node that freezes what is left in the pod: True while all of it
 *   is frozen, as the kernel reports; False with reason FreezeFailed if it cannot be. Nodes that do not freeze such pods write no condition:
 *   there the answer of the sandbox's daemon has to do.
 */
import { isResting, podCondition } from "./claimed-pod.ts";
import { annotationKeys, podConditions } from "./keys.ts";
import type { Pod } from "./pod.ts";

/** Since when the pod rests; undefined for one that does not. */
export function restWish(pod: Pick<Pod, "metadata">): string | undefined {
  return isResting(pod) ? pod.metadata.annotations?.[annotationKeys.restsSince] : undefined;
}

/** What the node says of it; undefined as long as it says nothing. */
export function restAnswer(pod: Pick<Pod, "status">): "frozen" | "failed" | undefined {
  const condition = podCondition(pod, podConditions.atRest);
  if (condition === undefined) return undefined;
  return condition.status === "True" ? "frozen" : "failed";
}
