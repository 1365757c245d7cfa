/** What the keeping of a pool has to know of one of its pods: read off the pod once, whenever it changes. Pure. */
import { type PoolSlot, slotOf } from "#read-model/indexes.ts";
import { podCondition } from "#model/claimed-pod.ts";
import { annotationKeys, finalizers, labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { parseTime } from "#sandbox/annotation-values.ts";
import { phaseSince } from "#sandbox/phase.ts";

export interface PodNote {
  readonly pod: Pod;
  readonly name: string;
  readonly slot: PoolSlot;
  readonly isReady: boolean;
  /** All its containers have ended for good. */
  readonly hasEnded: boolean;
  /** Living, and without the finalizer that keeps it until its sandbox is recorded. */
  readonly isUnprotected: boolean;
  /** It has the label of the pool but no phase, or was closed for a deletion that did not happen: it cannot be claimed. */
  readonly isStray: boolean;
  readonly createdMs: number;
  /** Since when it is idle. */
  readonly idleSinceMs: number;
  /** Since when it could have been ready and is not. */
  readonly unreadySinceMs: number;
  /** When it was chosen for scale-down; a mark that cannot be read counts from now on. */
  readonly marked: { readonly atMs: number | undefined } | undefined;
  readonly templateHash: string;
}

export function noteOf(pod: Pod): PodNote {
  const { name = "", labels, annotations = {} } = pod.metadata;
  const slot = slotOf(pod);
  const mark = annotations[annotationKeys.chosenToGo];
  return {
    pod,
    name,
    slot,
    hasEnded: pod.status?.phase === "Failed" || pod.status?.phase === "Succeeded",
    isUnprotected: isUnprotected(pod),
    isStray: isLeaving(pod, slot) || (slot === "unknown" && labels?.[labelKeys.sandboxPhase] === undefined),
    marked: mark === undefined ? undefined : { atMs: parseTime(mark) },
    templateHash: annotations[annotationKeys.templateHash] ?? "",
    ...readinessOf(pod, slot),
  };
}

function isLeaving({ metadata: { annotations } }: Pod, slot: PoolSlot): boolean {
  return slot === "idle" && annotations?.[annotationKeys.leaving] !== undefined;
}

function isUnprotected({ metadata: { deletionTimestamp, finalizers: present = [] } }: Pod): boolean {
  return deletionTimestamp === undefined && !present.includes(finalizers.sandboxProtection);
}

function readinessOf(pod: Pod, slot: PoolSlot): Pick<PodNote, "isReady" | "createdMs" | "idleSinceMs" | "unreadySinceMs"> {
  const createdMs = parseTime(pod.metadata.creationTimestamp) ?? 0;
  const since = slot === "idle" ? phaseSince(pod, "idle") : undefined;
  const idleSinceMs = since?.kind === "in-phase" ? since.sinceMs : createdMs;
  const ready = podCondition(pod, "Ready");
  const changedMs = parseTime(ready?.lastTransitionTime) ?? 0;
  return { isReady: ready?.status === "True", createdMs, idleSinceMs, unreadySinceMs: Math.max(idleSinceMs, changedMs) };
}
