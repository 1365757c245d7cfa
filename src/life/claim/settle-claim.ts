/**
 * A claim that stands on its pod's Lease comes to the pod itself with the next write of it. Where none comes, it is brought there after a while: labels of
 * pods are what people select by, with kubectl, in NetworkPolicies and elsewhere. Not at once: sandboxes that live for seconds would cost a second write each.
 */
import type { Requeue } from "#kube/controller/work-queue.ts";
import { patchPodAsSeen } from "#life/patch-pod.ts";
import { isClaimBeside } from "#model/claim-lease.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { parseTime } from "#sandbox/annotation-values.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import type { PodDeps } from "#life/pod-deps.ts";

/** How long a running sandbox may be known by its Lease alone. */
export const settleMs = 10_000;

export async function settleClaim(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<Requeue> {
  if (!isClaimBeside(pod)) return undefined;
  const leftMs = (parseTime(pod.metadata.annotations?.[annotationKeys.claimedAt]) ?? 0) + settleMs - deps.clock.now();
  // Clocks of API processes may be ahead of ours.
  if (leftMs > 0) return { afterMs: Math.min(leftMs, settleMs) };
  await settle(deps, pod, signal);
  return undefined;
}

/**
 * The pod with its claim written on it, as the server has it; undefined if the pod has changed. A process that did not know that a pod is gone may have
 * written a Lease beside it: that was no sandbox, and is not recorded.
 */
export async function settledPod(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<Pod | undefined> {
  return sandboxIdOf(pod) !== undefined && isClaimBeside(pod) ? settle(deps, pod, signal) : pod;
}

function settle(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<Pod | undefined> {
  return patchPodAsSeen(deps, pod, podPatch(pod, {}), signal);
}
