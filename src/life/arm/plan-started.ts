/** The end of the slow path: every exchanged container is the new one and answers, so the sandbox is running. */
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import type { JsonPatch } from "#model/patch.ts";
import type { Pod } from "#model/pod.ts";
import { formatTime } from "#sandbox/annotation-values.ts";
import { completionOf } from "#sandbox/images/inplace-completion.ts";
import { type InplaceUpdateState, serializeInplaceUpdateState, targetImagesOf } from "#sandbox/images/inplace-state.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import { stableContainerStatuses } from "#sandbox/health/restart.ts";

export type FinishStartPlan =
  /** The process whose write succeeds runs what must run once per start; no other does (W14). */
  | { readonly kind: "patch"; readonly patch: JsonPatch }
  | { readonly kind: "waiting"; readonly why: string }
  /** The pod is not starting. */
  | { readonly kind: "nothing" };

export function planFinishStart(pod: Pod, now: number): FinishStartPlan {
  // A pod that goes will not come up, and its end is about to be told.
  if (sandboxPhaseOf(pod) !== "starting" || pod.metadata.deletionTimestamp !== undefined) return { kind: "nothing" };
  const completion = completionOf(pod);
  if (completion.kind === "waiting") return completion;
  if (completion.kind === "no-update") return { kind: "waiting", why: "the pod does not say which images it is to run" };
  const targets = targetImagesOf(completion.state, pod);
  const state: InplaceUpdateState = {
    phase: "completed",
    targetImages: targets,
    targetPodPhase: "running",
    updateTimestamp: formatTime(now),
    stableContainerStatuses: stableContainerStatuses(pod, Object.keys(targets)),
  };
  const annotations = {
    [annotationKeys.startedAt]: formatTime(now),
    [annotationKeys.inplaceUpdateState]: serializeInplaceUpdateState(state),
  };
  return {
    kind: "patch",
    patch: podPatch(pod, { phase: "running", annotations, removeAnnotations: [annotationKeys.sandboxStatusDetail] }),
  };
}
