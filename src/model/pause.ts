/**
 * Pausing a sandbox in place: its container is frozen, memory stays, CPU is free. A wanted state and an answer:
 *
 * - Wanted is the annotation `agentbox.navix.sh/paused` on the pod: the RFC 3339 time at which pausing was asked for. An API
 *   process sets or removes it with one conditional patch. Removing it asks to resume.
 * - The answer is the pod condition `agentbox.navix.sh/Paused`, written by the node: True while the container is frozen,
 *   else False or absent. If freezing does not work it is False with reason FreezeFailed, and its message repeats the annotation that it
 *   answers before the cause: times cannot tell which request was meant, because a condition's are in whole seconds and stay when a
 *   second failure follows the first.
 *
 * The node compares the two and acts until they agree, so that a lost event or a restarted node changes nothing. The sandbox phase
 * stays `running`: a paused sandbox is claimed, counts as a replica and keeps its id, address and route. Its Ready condition says
 * nothing while it is paused, because a frozen container answers no probe; so a wait for a pause must not look at it.
 * A deep pause is a checkpoint and a release, and needs none of this.
 */
import { podCondition } from "./claimed-pod.ts";
import { annotationKeys, podConditionReasons, podConditions } from "./keys.ts";
import type { Pod } from "./pod.ts";

/** When pausing was asked for; undefined when the sandbox is to run. */
export function pauseWish(pod: Pick<Pod, "metadata">): string | undefined {
  return pod.metadata.annotations?.[annotationKeys.paused];
}

export function isFrozen(pod: Pick<Pod, "status">): boolean {
  return podCondition(pod, podConditions.paused)?.status === "True";
}

/** The message of a condition that says that freezing did not work. */
export function freezeFailedMessage(wish: string, cause: string): string {
  return `${wish}: ${cause}`;
}

/** Why the wish cannot be granted; undefined as long as it may be. A failure that does not repeat the wish belongs to another one. */
export function freezeFailure(pod: Pick<Pod, "metadata" | "status">): string | undefined {
  const wish = pauseWish(pod);
  const condition = podCondition(pod, podConditions.paused);
  if (wish === undefined || condition?.status !== "False" || condition.reason !== podConditionReasons.freezeFailed) return undefined;
  const { message = "" } = condition;
  const answered = freezeFailedMessage(wish, "");
  return message.startsWith(answered) ? message.slice(answered.length) : undefined;
}
