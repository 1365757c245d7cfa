/**
 * The second half of an end, for resting pods: the sandbox has ended, nothing of it runs any more, and now the containers are exchanged. Ending is one
 * write that no caller waits for; an exchange keeps a node busy, so it is done when the node has time.
 */
import { isResting } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import type { JsonPatch } from "#model/patch.ts";
import { isFrozen } from "#model/pause.ts";
import type { Pod } from "#model/pod.ts";
import { begunUpdate } from "#sandbox/images/inplace-update.ts";
import { serializeInplaceUpdateState } from "#sandbox/images/inplace-state.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import type { ContainerImages } from "#sandbox/images/images.ts";

/** Undefined for a pod that does not rest any more. */
export function planRecycleStart(pod: Pod, containerImages: ContainerImages, now: number): JsonPatch | undefined {
  if (!isResting(pod) || pod.metadata.deletionTimestamp !== undefined) return undefined;
  const state = begunUpdate(pod, { containerImages, targetPodPhase: "idle", updatePodPhase: "stopping" }, now);
  return podPatch(pod, {
    annotations: { [annotationKeys.inplaceUpdateState]: serializeInplaceUpdateState(state) },
    removeAnnotations: [annotationKeys.restsSince],
    images: containerImages,
  });
}

/**
 * Whether nothing of the sandbox goes on once its daemon has ended what it can reach: other containers it cannot, and a paused or
 * broken one does not hear of it.
 */
export function mayRest({ metadata, spec, status }: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined || status?.phase !== "Running" || (status.podIP ?? "") === "") return false;
  if (metadata.annotations?.[annotationKeys.paused] !== undefined || isFrozen({ status })) return false;
  return spec.containers.length === 1 && spec.shareProcessNamespace !== true && spec.hostPID !== true;
}
