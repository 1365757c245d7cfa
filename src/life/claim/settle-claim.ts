/**
 * A claim that an engine has written elsewhere comes to the pod itself with the next write of the pod. If no write comes, this loop brings it there after a
 * while, because people select pods by their labels, with kubectl and in NetworkPolicies. Not at once: a sandbox that lives for seconds would cost a second write.
 */
import type { Requeue } from "#kube/controller/work-queue.ts";
import { patchPodAsSeen } from "#life/patch-pod.ts";
import { isClaimElsewhere } from "#model/shown-pod.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { parseTime } from "#sandbox/annotation-values.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import type { PodDeps } from "#life/pod-deps.ts";

/** How long the pod of a running sandbox may be without the labels of its claim. */
export const settleMs = 10_000;

export async function settleClaim(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<Requeue> {
  if (!isClaimElsewhere(pod)) return undefined;
  const leftMs = (parseTime(pod.metadata.annotations?.[annotationKeys.claimedAt]) ?? 0) + settleMs - deps.clock.now();
  // Clocks of API processes may be ahead of ours.
  if (leftMs > 0) return { afterMs: Math.min(leftMs, settleMs) };
  await settle(deps, pod, signal);
  return undefined;
}

/**
 * The pod with its claim written on it, as the server has it; undefined if the pod has changed. A process that did not know that a pod is gone may have
 * claimed it: that was no sandbox, and is not recorded.
 */
export async function settledPod(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<Pod | undefined> {
  return sandboxIdOf(pod) !== undefined && isClaimElsewhere(pod) ? settle(deps, pod, signal) : pod;
}

function settle(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<Pod | undefined> {
  return patchPodAsSeen(deps, pod, podPatch(pod, {}), signal);
}
