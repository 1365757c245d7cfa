/**
 * What Warning events say about a pod. A pod outlives its users, and so do its events: only those since the claim are the present
 * user's to see (I2, I8).
 */
import { isClaimed, sandboxPhaseOf } from "#model/claimed-pod.ts";
import type { ObjectEvent } from "#model/core-kinds.ts";
import { annotationKeys, diagnosisReasons, outOfMemoryEvent } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { parseTime } from "#sandbox/annotation-values.ts";
import { detailHead, type PodDiagnosticEvent, type PodStatusDetail } from "./diagnosis.ts";
import { lastStatusDetail } from "./status-note.ts";

/** Events have fewer words than containers: their message tells which it is. The first that fits is taken. */
const reasonsOfEvents: readonly { readonly event: string; readonly message: RegExp; readonly reason: string }[] = [
  { event: outOfMemoryEvent, message: /./s, reason: diagnosisReasons.oomKilled },
  { event: "FailedScheduling", message: /./s, reason: diagnosisReasons.unschedulable },
  { event: "Failed", message: /ImagePullBackOff/, reason: diagnosisReasons.imagePullBackOff },
  { event: "Failed", message: /ErrImagePull|pull image/i, reason: diagnosisReasons.errImagePull },
  { event: "BackOff", message: /pulling image/i, reason: diagnosisReasons.imagePullBackOff },
  { event: "BackOff", message: /./s, reason: diagnosisReasons.crashLoopBackOff },
];

/**
 * The diagnosis of a pod with its Warning events. `events` may hold others; they are left out. Undefined when neither pod nor events
 * have anything to say. A sandbox that runs well is not ill for a warning that is over, unless it ran out of memory.
 */
export function statusDetailWithEvents(pod: Pod, events: readonly ObjectEvent[]): PodStatusDetail | undefined {
  const warnings = warningsOf(pod, events);
  const fromPod = lastStatusDetail(pod);
  if (fromPod !== undefined) return { ...fromPod, events: warnings };
  // What was killed for want of memory is missing from a sandbox that runs well otherwise.
  const shown = sandboxPhaseOf(pod) === "running" ? warnings.filter(({ reason }) => reason === outOfMemoryEvent) : warnings;
  const newest = shown[0];
  if (newest === undefined) return undefined;
  return { ...detailHead(pod), reason: reasonOf(newest), message: newest.message, events: shown };
}

function warningsOf(pod: Pod, events: readonly ObjectEvent[]): readonly PodDiagnosticEvent[] {
  const since = startOfInterest(pod);
  return events
    .filter((event) => event.type === "Warning" && isAbout(pod, event))
    .map((event) => ({ event, ms: timeOf(event) }))
    .filter(({ ms }) => ms >= since)
    .toSorted((left, right) => right.ms - left.ms)
    .map(({ event, ms }) => diagnosticEvent(event, ms));
}

/** Events have whole seconds, so one of the claim's own second may be older than the claim. It is left out: if it matters it repeats. */
function startOfInterest(pod: Pod): number {
  const claimed = parseTime(pod.metadata.annotations?.[annotationKeys.claimedAt]);
  if (claimed !== undefined) return claimed;
  // Without the time of the claim nothing can be told to be this user's.
  return isClaimed(pod) ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
}

function isAbout(pod: Pod, { involvedObject }: ObjectEvent): boolean {
  // By uid: a name may be used again.
  return pod.metadata.uid !== undefined && involvedObject.uid === pod.metadata.uid;
}

function timeOf({ lastTimestamp, eventTime, firstTimestamp, metadata }: ObjectEvent): number {
  const times = [lastTimestamp, eventTime, firstTimestamp, metadata.creationTimestamp].map((time) => parseTime(time ?? undefined));
  return times.find((time) => time !== undefined) ?? 0;
}

function diagnosticEvent({ reason = "", message = "", count = 1 }: ObjectEvent, ms: number): PodDiagnosticEvent {
  return { reason, message, lastTimestamp: new Date(ms).toISOString(), count };
}

function reasonOf({ reason, message }: PodDiagnosticEvent): string {
  return reasonsOfEvents.find((known) => known.event === reason && known.message.test(message))?.reason ?? reason;
}
