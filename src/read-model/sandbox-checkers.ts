/**
 * What a pod says about being paused, resumed and ready. Pausing is a wish (annotation) and an answer (pod condition): model/pause.ts.
 *
 * A wish that is not there, or still there, is never a failure but something to wait for: the write that changes it may not have
 * reached the cache, and what another process wishes meanwhile is that process's business.
 */
import { podCondition, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import { freezeFailure, isFrozen, pauseWish } from "#model/pause.ts";
import type { ContainerStatus, Pod } from "#model/pod.ts";
import { failed, satisfied, type Verdict, waiting } from "#kube/wait/verdict.ts";

/** Why a container will not start however long one waits. Pull errors are not among them: registries come back. */
const startFailures: ReadonlySet<string> = new Set([
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
  "StartError",
  "InvalidImageName",
  "ErrImageNeverPull",
]);

/** The container is frozen. Only a running sandbox can be. */
export function checkPaused(pod: Pod): Verdict {
  const end = ended(pod);
  if (end !== undefined) return end;
  if (sandboxPhaseOf(pod) !== "running") return failed("NotRunning", "the sandbox has not started yet; only a running one can be paused");
  const failure = freezeFailure(pod);
  if (failure !== undefined) return failed("FreezeFailed", `the node could not freeze the container: ${failure}`);
  if (pauseWish(pod) === undefined) return waiting("the pod does not show the wish to pause");
  return isFrozen(pod) ? satisfied : waiting("the node has not frozen the container");
}

/** A checkpoint has the sandbox: it has left the pod. */
export function checkDeepPaused(pod: Pod): Verdict {
  const { annotations = {} } = pod.metadata;
  if (annotations[annotationKeys.deepPaused] !== undefined) return satisfied;
  const frozen = checkPaused(pod);
  if (frozen.kind !== "satisfied") return frozen;
  const failure = annotations[annotationKeys.deepPauseFailure];
  if (failure !== undefined) return failed("DeepPauseFailed", `no checkpoint could be taken: ${failure.slice(failure.indexOf(" ") + 1)}`);
  return waiting("the checkpoint is being taken");
}

/** Thawed, and answering again. */
export function checkResumed(pod: Pod, now: number): Verdict {
  const end = ended(pod) ?? pastEnd(pod, now);
  if (end !== undefined) return end;
  if (sandboxPhaseOf(pod) !== "running") return failed("NotRunning", "the sandbox has not started yet; only a paused one can be resumed");
  return checkAwake(pod) ?? checkAnswering(pod);
}

/** Running on its final image, with an address, and answering. */
export function checkReady(pod: Pod, now: number): Verdict {
  const end = ended(pod) ?? pastEnd(pod, now) ?? startFailure(pod);
  if (end !== undefined) return end;
  if (sandboxPhaseOf(pod) !== "running") return waiting("the sandbox is starting");
  return checkSwapped(pod) ?? checkAwake(pod) ?? checkAnswering(pod);
}

/** What no wait survives: the sandbox or its pod is over. */
function ended(pod: Pod): Verdict | undefined {
  if (pod.metadata.deletionTimestamp !== undefined) return failed("Terminating", "the pod is being deleted");
  const phase = sandboxPhaseOf(pod);
  if (phase !== "running" && phase !== "starting") return failed("Released", `the pod carries no live sandbox: ${whyReleased(pod)}`);
  const { phase: podPhase, reason, message } = pod.status ?? {};
  if (podPhase !== "Failed" && podPhase !== "Succeeded") return undefined;
  return failed("PodFailed", `the pod has ended: ${[reason ?? podPhase, message].filter((part) => part !== undefined).join(", ")}`);
}

/**
 * A sandbox past its end time may be ended at any moment, so it does not count as ready. While a pause is wanted the end time does not
 * count: pausing may be what it asks for, and resuming sets another end time with the same write.
 */
function pastEnd(pod: Pod, now: number): Verdict | undefined {
  const end = Date.parse(pod.metadata.annotations?.[annotationKeys.endTime] ?? "");
  // A text that is no time ends nothing.
  if (Number.isNaN(end) || now < end || pauseWish(pod) !== undefined) return undefined;
  return failed("PastEnd", `the sandbox's end time ${new Date(end).toISOString()} was reached`);
}

function whyReleased(pod: Pod): string {
  const { annotations } = pod.metadata;
  const reasons = [annotations?.[annotationKeys.stopReason], annotations?.[annotationKeys.failureReason]].filter(
    (part) => part !== undefined,
  );
  return reasons.length === 0 ? `its phase is ${sandboxPhaseOf(pod) ?? "none"}` : reasons.join(", ");
}

function startFailure(pod: Pod): Verdict | undefined {
  const broken = containers(pod).find(({ state }) => startFailures.has(state?.waiting?.reason ?? ""));
  if (broken === undefined) return undefined;
  const { reason, message } = broken.state?.waiting ?? {};
  return failed(
    "StartContainerFailed",
    `container ${broken.name} cannot start: ${reason ?? ""}${message === undefined ? "" : `, ${message}`}`,
  );
}

function checkSwapped(pod: Pod): Verdict | undefined {
  const { generation = 0 } = pod.metadata;
  const observed = pod.status?.observedGeneration;
  // Nodes that do not report it leave it out; then the swap state alone must do.
  if (observed !== undefined && observed < generation) return waiting("the node has not seen the latest change of the pod");
  return isBeingSwapped(pod) ? waiting("the container is being swapped") : undefined;
}

function isBeingSwapped(pod: Pod): boolean {
  const text = pod.metadata.annotations?.[annotationKeys.inplaceUpdateState];
  if (text === undefined) return false;
  try {
    const state = JSON.parse(text) as { readonly phase?: unknown } | null;
    return state?.phase !== "completed";
  } catch {
    // Not readable is not completed.
    return true;
  }
}

function checkAwake(pod: Pod): Verdict | undefined {
  if (pauseWish(pod) !== undefined) return waiting("the pod shows the wish to pause");
  return isFrozen(pod) ? waiting("the node has not thawed the container") : undefined;
}

function checkAnswering(pod: Pod): Verdict {
  if (podCondition(pod, "Ready")?.status !== "True") return waiting(`the pod is not ready${whyNotReady(pod)}`);
  return pod.status?.podIP === undefined || pod.status.podIP === "" ? waiting("the pod has no address") : satisfied;
}

function whyNotReady(pod: Pod): string {
  const stuck = containers(pod).find(({ state }) => state?.waiting?.reason !== undefined);
  return stuck === undefined ? "" : ` (${stuck.name}: ${stuck.state?.waiting?.reason ?? ""})`;
}

function containers(pod: Pod): readonly ContainerStatus[] {
  return [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
}
