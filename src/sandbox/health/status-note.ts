/**
 * The last known reason why a pod does not start, noted on the pod itself (annotationKeys.sandboxStatusDetail, JSON SandboxStatusDetail). A container in a crash loop
 * runs for a moment between two crashes, and then the pod's status says nothing of what is wrong: the note still does, to people with kubectl and to
 * the sandbox's user.
 *
 * Each note is a write of the pod, so it is written only when the cause is another one than before, and not for what every slow start shows.
 */
import { podCondition, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys, diagnosisReasons } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxStatusDetail } from "#model/sandbox-pod.ts";
import { formatTime, parseTime } from "#sandbox/annotation-values.ts";
import { detailHead, type PodStatusDetail, statusDetailFromPod } from "./diagnosis.ts";
import type { PodChange } from "#sandbox/pod-patch.ts";

/** Least time between two notes on one pod. */
const everyMs = 30_000;
/** A pod may carry 256 KiB of annotations; a container's last words are not worth more. */
const longestMessage = 1024;

export type NotePlan =
  | { readonly kind: "write"; readonly change: PodChange }
  /** The cause has changed too soon after the last note. */
  | { readonly kind: "later"; readonly afterMs: number }
  | { readonly kind: "nothing" };

/** For pods that wait or start; others lose their note with the write that makes them something else. */
export function planStatusNote(pod: Pod, now: number): NotePlan {
  const phase = sandboxPhaseOf(pod);
  if (phase !== "idle" && phase !== "starting") return { kind: "nothing" };
  const noted = statusNote(pod);
  const detail = statusDetailFromPod(pod);
  if (detail === undefined || detail.reason === diagnosisReasons.pulling) return noted === undefined ? { kind: "nothing" } : forget(pod);
  if (noted !== undefined && causeOf(noted.reason) === causeOf(detail.reason)) return { kind: "nothing" };
  const afterMs = (parseTime(noted?.lastUpdatedTime) ?? -Infinity) + everyMs - now;
  if (afterMs > 0) return { kind: "later", afterMs: Math.min(afterMs, everyMs) };
  const note: SandboxStatusDetail = {
    reason: detail.reason,
    message: detail.message.slice(0, longestMessage),
    lastUpdatedTime: formatTime(now),
  };
  return { kind: "write", change: { annotations: { [annotationKeys.sandboxStatusDetail]: JSON.stringify(note) } } };
}

/** Only once the pod is well: between two crashes it says nothing and is not. */
function forget(pod: Pod): NotePlan {
  if (podCondition(pod, "Ready")?.status !== "True") return { kind: "nothing" };
  return { kind: "write", change: { removeAnnotations: [annotationKeys.sandboxStatusDetail] } };
}

/** Nodes alternate between the words for one cause. */
function causeOf(reason: string): string {
  return reason === diagnosisReasons.errImagePull ? diagnosisReasons.imagePullBackOff : reason;
}

/** Undefined where there is none, or none that can be read. */
export function statusNote(pod: Pod): SandboxStatusDetail | undefined {
  const text = pod.metadata.annotations?.[annotationKeys.sandboxStatusDetail];
  if (text === undefined) return undefined;
  try {
    const { reason, message, lastUpdatedTime } = (JSON.parse(text) ?? {}) as Record<string, unknown>;
    if (typeof reason !== "string" || typeof message !== "string" || typeof lastUpdatedTime !== "string") return undefined;
    return { reason, message, lastUpdatedTime };
  } catch {
    return undefined;
  }
}

/** What the pod says now, or else what it last said while it did not start. */
export function lastStatusDetail(pod: Pod): PodStatusDetail | undefined {
  const detail = statusDetailFromPod(pod);
  const noted = sandboxPhaseOf(pod) === "starting" ? statusNote(pod) : undefined;
  if (noted === undefined || (detail !== undefined && detail.reason !== diagnosisReasons.pulling)) return detail;
  return { ...detailHead(pod), reason: noted.reason, message: `${noted.message} (seen at ${noted.lastUpdatedTime})` };
}
