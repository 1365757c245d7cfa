/**
 * What history keeps of a sandbox that has ended. The record is taken before the pod is wiped; taken twice from the same pod it is
 * the same record, because its writer may die between record and wipe (I3, I7).
 */
import { withoutUndefined } from "#lib/without-undefined.ts";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys, type SandboxStopReason, sandboxStopReasons } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { formatTime, parseStringMap, parseTime } from "#sandbox/annotation-values.ts";
import { deathOf, type Failure, stopReasonOf } from "#sandbox/health/death.ts";
import { readInplaceUpdateState } from "#sandbox/images/inplace-state.ts";
import { readableImages, type SandboxBase, sandboxBaseFromPod } from "#sandbox/sandbox-base.ts";

/**
 * The terminal record of a sandbox whose pod is being recycled, replaced, deleted, or has ended; undefined when the pod carries none.
 * How it ended is what the end wrote; a pod that ended without one failed its sandbox, whatever phase it was in (W9).
 */
export function captureStopRecord(pod: Pod, now: number): SandboxRecord | undefined {
  const base = sandboxBaseFromPod(pod);
  if (base === undefined) return undefined;
  const { annotations = {} } = pod.metadata;
  const said = sandboxStopReasons.find((reason) => reason === annotations[annotationKeys.stopReason]);
  const death = said === undefined && sandboxPhaseOf(pod) !== "stopping" ? deathOf(pod) : undefined;
  const stopReason = said ?? defaultReason(base, death);
  const ranImages = parseStringMap(annotations[annotationKeys.runningImages]);
  return {
    ...base,
    ...(ranImages === undefined ? {} : { containerImages: readableImages(ranImages) }),
    status: stopReason,
    stopReason,
    terminatedAt: formatTime(terminationTime(pod) ?? now),
    ...withoutUndefined({ ...death, ...withoutUndefined(writtenEnd(annotations)) }),
    ...withoutUndefined({ containerId: annotations[annotationKeys.containerId] ?? firstContainerId(pod) }),
  };
}

/** For pods of writers that did not say: one that never ran was canceled. */
function defaultReason({ startedAt }: SandboxBase, death: Failure | undefined): SandboxStopReason {
  if (death !== undefined) return stopReasonOf(death);
  return startedAt === undefined ? "Canceled" : "Completed";
}

function writtenEnd(annotations: Readonly<Record<string, string>>) {
  return {
    failureReason: annotations[annotationKeys.failureReason],
    failureMessage: annotations[annotationKeys.failureMessage],
    exitCode: parseExitCode(annotations[annotationKeys.exitCode]),
  };
}

/** From the pod alone, if the pod says anything, so that it is the same whenever it is asked. */
function terminationTime(pod: Pod): number | undefined {
  const { annotations, deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata;
  const written = parseTime(annotations?.[annotationKeys.terminatedAt]);
  if (written !== undefined) return written;
  const read = readInplaceUpdateState(pod);
  if (read.kind === "state" && read.state.phase === "stopping") return parseTime(read.state.updateTimestamp);
  // A pod's deletionTimestamp is when its grace ends.
  const due = parseTime(deletionTimestamp);
  return due === undefined ? containerEnd(pod) : due - deletionGracePeriodSeconds * 1000;
}

function containerEnd({ status }: Pod): number | undefined {
  const ended = status?.containerStatuses?.find(({ state }) => state?.terminated !== undefined);
  return parseTime(ended?.state?.terminated?.finishedAt);
}

function firstContainerId({ spec, status }: Pod): string | undefined {
  return status?.containerStatuses?.find(({ name }) => name === spec.containers[0]?.name)?.containerID;
}

function parseExitCode(text: string | undefined): number | undefined {
  return text !== undefined && /^-?\d{1,10}$/.test(text) ? Number(text) : undefined;
}
