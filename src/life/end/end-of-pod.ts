/**
 * Pods that end and take their sandbox with them: evicted, failed, lost with their node, or deleted. The record is written first, then the pod is deleted,
 * then the finalizer is removed. If the process dies in between, another one continues from the pod's state (I7).
 */
import { closeToClaims } from "#life/claim/write-claim.ts";
import { deletePodAsSeen, isHeld, removeProtection } from "#life/delete-pod.ts";
import { sandboxPhaseOf, sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import { settledPod } from "#life/claim/settle-claim.ts";
import { tellFailed } from "#life/tell-failed.ts";
import type { PodDeps } from "#life/pod-deps.ts";
import { endSandbox } from "./write-end.ts";
import { stopReasonOf } from "#sandbox/health/death.ts";
import { unexpectedRestart } from "#sandbox/health/restart.ts";

/** All its containers have ended for good, but the pod was not deleted: nodes leave such pods to their owners. */
export function hasEnded({ status }: Pod): boolean {
  return status?.phase === "Failed" || status?.phase === "Succeeded";
}

/** Records what the pod carried, if anything, and deletes it. The pool makes another one. */
export async function deleteRecorded(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<void> {
  const settled = await settledPod(deps, pod, signal);
  if (settled === undefined) return;
  await deps.recorder.record(settled);
  await deps.logs?.keep(settled);
  await deletePodAsSeen(deps, settled, signal);
}

/** A deleted pod is held by our finalizer until its sandbox's record is stored, in whatever phase it was deleted (W9). */
export async function finishDeleted(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<void> {
  if (!isHeld(pod)) return;
  // One that was claimed before we had heard of it shows its sandbox by now, and is looked at again.
  if (!(await closeToClaims(deps, pod, signal))) return;
  const settled = await settledPod(deps, pod, signal);
  if (settled === undefined) return;
  const record = await deps.recorder.record(settled);
  await deps.logs?.keep(settled);
  if (!(await removeProtection(deps, settled, signal)) || record === undefined) return;
  deps.observer.ended(record);
  // A sandbox that had ended before was reported then.
  if (record.status === "Failed" && sandboxPhaseOf(pod) !== "stopping") tellFailed(deps.events, pod, record);
  deps.events.forget(pod.metadata.uid ?? "");
}

/** A sandbox whose container was replaced without a request has lost its content: it has failed. */
export async function endRestarted(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<void> {
  const sandboxId = sandboxIdOf(pod);
  const restart = unexpectedRestart(pod);
  if (restart === undefined || sandboxId === undefined) return;
  const { failureReason, failureMessage, exitCode, endedAtMs } = restart;
  const stopReason = stopReasonOf(restart);
  // The container that failed is the one before; the next exchange would leave nothing of it.
  await deps.logs?.keep(pod, { container: pod.spec.containers[0]?.name ?? "", previous: true });
  const outcome = await endSandbox(
    deps,
    pod,
    {
      sandboxId,
      stopReason,
      // When it ended, which after a restart of the machine is long before it is noticed.
      ...(endedAtMs === undefined ? {} : { terminatedAtMs: Math.min(endedAtMs, deps.clock.now()) }),
      failureReason,
      failureMessage,
      ...(exitCode === undefined ? {} : { exitCode }),
      expectedPhase: "running",
      asSeen: true,
    },
    signal,
  );
  if (outcome.kind !== "ended") return;
  deps.log.info({ sandboxId, pod: pod.metadata.name, failureReason, exitCode }, "sandbox ended: its container was restarted");
  if (stopReason === "Failed") tellFailed(deps.events, pod, restart);
}
