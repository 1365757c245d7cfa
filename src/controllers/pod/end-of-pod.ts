/**
 * Pods that end and take their sandbox with them: evicted, failed, with their node, or deleted by somebody. The record comes first,
 * then the delete, then the finalizer; whoever dies in between is followed by somebody who finds the pod as it stands (I7).
 */
import { closeToClaims } from "#lifecycle/claim-leases.ts";
import { deletePodAsSeen, isHeld, letGo } from "#lifecycle/delete-pod.ts";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import { settledPod } from "./settle-claim.ts";
import { tellFailed } from "./tell-failed.ts";
import type { PodDeps } from "./pod-deps.ts";

/** Its containers have ended for good, but nobody has deleted it: nodes leave such pods to their owners. */
export function hasEnded({ status }: Pod): boolean {
  return status?.phase === "Failed" || status?.phase === "Succeeded";
}

/** Records what the pod carried, if anything, and deletes it. The pool makes another one. */
export async function deleteRecorded(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<void> {
  const settled = await settledPod(deps, pod, signal);
  if (settled === undefined) return;
  await deps.recorder.record(settled);
  await deletePodAsSeen(deps, settled, signal);
}

/** A deleted pod is held by our finalizer until its sandbox's record is stored, in whatever phase it was deleted (W9). */
export async function letGoOfDeleted(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<void> {
  if (!isHeld(pod)) return;
  // One that was claimed before we had heard of it shows its sandbox by now, and is looked at again.
  if (!(await closeToClaims(deps, pod, signal))) return;
  const settled = await settledPod(deps, pod, signal);
  if (settled === undefined) return;
  const record = await deps.recorder.record(settled);
  if (!(await letGo(deps, settled, signal)) || record === undefined) return;
  deps.observer.ended(record);
  // One that was released before has been told of then.
  if (record.status === "Failed" && sandboxPhaseOf(pod) !== "stopping") tellFailed(deps.events, pod, record);
  deps.events.forget(pod.metadata.uid ?? "");
}
