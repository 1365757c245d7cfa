/** Why a pod ended and took its sandbox with it. */
import { podCondition } from "#model/claimed-pod.ts";
import { failureReasons, type SandboxStopReason } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";

/** As a release and a record have it. */
export interface Failure {
  readonly failureReason: string;
  readonly failureMessage: string;
  readonly exitCode?: number;
}

/** What the condition DisruptionTarget gives as its reason. */
const disruptions: Readonly<Record<string, string>> = {
  DeletionByTaintManager: failureReasons.nodeLost,
  DeletionByPodGC: failureReasons.nodeLost,
  EvictionByEvictionAPI: failureReasons.evicted,
  PreemptionByScheduler: failureReasons.evicted,
  TerminationByKubelet: failureReasons.evicted,
};

/** What a pod's status gives as its reason. */
const statusReasons: Readonly<Record<string, string>> = {
  Evicted: failureReasons.evicted,
  Preempting: failureReasons.evicted,
  NodeLost: failureReasons.nodeLost,
  NodeShutdown: failureReasons.nodeLost,
  Terminated: failureReasons.nodeLost,
};

/**
 * Undefined for a live pod. An explicit reason comes first; then the sandbox's own container status at its end (only if the pod failed, because containers
 * of a deleted pod are killed by the deletion); then what else is visible.
 */
export function deathOf(pod: Pod): Failure | undefined {
  const isGoing = pod.metadata.deletionTimestamp !== undefined;
  const hasEnded = pod.status?.phase === "Failed" || pod.status?.phase === "Succeeded";
  if (!isGoing && !hasEnded) return undefined;
  const given = givenReason(pod);
  if (given !== undefined) return given;
  if (isGoing && !hasEnded) return { failureReason: failureReasons.podDeleted, failureMessage: "the pod was deleted" };
  return (
    containerDeath(pod) ?? { failureReason: pod.status?.reason ?? failureReasons.podFailed, failureMessage: saidOf(pod, "the pod failed") }
  );
}

function givenReason(pod: Pod): Failure | undefined {
  const disruption = podCondition(pod, "DisruptionTarget");
  const byCondition = disruption?.status === "True" ? own(disruptions, disruption.reason) : undefined;
  if (byCondition !== undefined) return { failureReason: byCondition, failureMessage: disruption?.message ?? disruption?.reason ?? "" };
  const byStatus = own(statusReasons, pod.status?.reason);
  return byStatus === undefined ? undefined : { failureReason: byStatus, failureMessage: saidOf(pod, pod.status?.reason ?? "") };
}

function containerDeath({ spec, status }: Pod): Failure | undefined {
  const first = status?.containerStatuses?.find(({ name }) => name === spec.containers[0]?.name);
  const ended = first?.state?.terminated;
  if (first === undefined || ended === undefined) return undefined;
  const { reason = failureReasons.podFailed, exitCode, message } = ended;
  const failureMessage = `container ${first.name} ended with exit code ${exitCode} (${reason})${message === undefined ? "" : `: ${message}`}`;
  return { failureReason: reason, failureMessage, exitCode };
}

function saidOf({ status }: Pod, otherwise: string): string {
  return status?.message === undefined || status.message === "" ? otherwise : status.message;
}

function own(map: Readonly<Record<string, string>>, key: string | undefined): string | undefined {
  return key !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}

/** Ended on purpose by the operator of the machine; every other end of a container is a failure. */
export function stopReasonOf({ failureReason }: Pick<Failure, "failureReason">): SandboxStopReason {
  return failureReason === failureReasons.serverDown ? "Released" : "Failed";
}
