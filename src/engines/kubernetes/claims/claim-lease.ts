/**
 * The form of a claim on a Lease (ADR 54). A write of a pod wakes its kubelet, the scheduler and every other program that watches pods; a Lease is small,
 * and only AgentBox watches it. So the one write that decides which request gets a pod is a write of the Lease with the pod's name. The read model shows the
 * claim on the pod (model/shown-pod.ts) until the next write of the pod takes it along.
 *
 * A Lease is about one use of one pod. About another pod, another use, or a pod that is not idle it says nothing. So the order in which the two arrive does not
 * matter, and a Lease that is left from an earlier use needs no tidying.
 */
import type { ClaimNote } from "#engine-port/claim-book.ts";
import type { Lease } from "#model/core-kinds.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { podShownWith, storedPod } from "#model/shown-pod.ts";

/**
 * The Lease's own annotation, as JSON: which pod and use it is about, and the note without the values of its annotations. Those stand on the Lease as they will
 * on the pod, because both have the same limits; `annotated` has their names. The Lease's owner reference does not say which pod it is about, because
 * deleting a pod with orphaned dependents removes it.
 */
interface Heading {
  readonly uid: string;
  readonly use: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotated: readonly string[];
  readonly without: readonly string[];
}

/** The pod with what its Lease says of this use of it. The same object when that is nothing. */
export function podWithClaim(shown: Pod, lease: Lease | undefined): Pod {
  const pod = storedPod(shown);
  const note = lease === undefined ? undefined : noteAbout(pod, lease);
  if (note === undefined) return pod;
  return podShownWith(pod, {
    labels: Object.freeze({ ...pod.metadata.labels, ...note.labels }),
    annotations: Object.freeze(without({ ...pod.metadata.annotations, ...note.annotations }, note.without)),
  });
}

/** What the Lease says about the pod as it is now; undefined when it is about something else. */
export function noteAbout(pod: Pod, lease: Lease): ClaimNote | undefined {
  if (pod.metadata.labels?.[labelKeys.sandboxPhase] !== "idle") return undefined;
  const heading = headingOf(lease);
  if (heading?.uid !== pod.metadata.uid || heading?.use !== useOf(pod)) return undefined;
  const { labels, annotated, without: hidden } = heading;
  return { labels, annotations: picked(lease.metadata.annotations ?? {}, annotated), without: hidden };
}

/** True when the Lease is about a later use. The pod was read before that use began, so it can no longer be claimed or closed. */
export function isOfLaterUse(pod: Pod, lease: Lease): boolean {
  const heading = headingOf(lease);
  return heading?.uid === pod.metadata.uid && Number(heading?.use) > Number(useOf(pod));
}

/** False for a Lease that was not written by a claim or a close: it belongs to another program, whatever its name. */
export function isClaimLease(lease: Lease): boolean {
  return headingOf(lease) !== undefined;
}

/** The Lease that says this about the pod as it is now. `held` is the Lease that it replaces. */
export function leaseAbout(pod: Pod, note: ClaimNote, held: Lease | undefined): Lease {
  const { namespace, name = "", uid = "", labels: { [labelKeys.sandboxPool]: pool } = {} } = pod.metadata;
  const { labels, annotations, without: hidden } = note;
  const heading: Heading = { uid, use: useOf(pod), labels, annotated: Object.keys(annotations), without: hidden };
  const sandboxId = holderIn(note);
  return {
    metadata: {
      ...(namespace === undefined ? {} : { namespace }),
      name,
      ...(held?.metadata.resourceVersion === undefined ? {} : { resourceVersion: held.metadata.resourceVersion }),
      labels: {
        ...(pool === undefined ? {} : { [labelKeys.sandboxPool]: pool }),
        ...(sandboxId === undefined ? {} : { [labelKeys.sandboxId]: sandboxId }),
      },
      annotations: { ...annotations, [annotationKeys.claim]: JSON.stringify(heading) },
      // The cluster deletes it with its pod.
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name, uid }],
    },
    spec: sandboxId === undefined ? {} : { holderIdentity: sandboxId },
  };
}

/** The sandbox that holds the pod by the note; undefined: none. */
export function holderIn(note: ClaimNote): string | undefined {
  return note.labels[labelKeys.sandboxId];
}

/** As text, so that a counter that is no number can still be compared. */
function useOf({ metadata }: Pod): string {
  return metadata.annotations?.[annotationKeys.useCount] ?? "0";
}

/** Undefined for a Lease of another program. */
function headingOf({ metadata }: Lease): Heading | undefined {
  const text = metadata.annotations?.[annotationKeys.claim];
  if (text === undefined) return undefined;
  try {
    const heading: unknown = JSON.parse(text);
    return isHeading(heading) ? heading : undefined;
  } catch {
    return undefined;
  }
}

function isHeading(value: unknown): value is Heading {
  if (typeof value !== "object" || value === null) return false;
  const { uid, use, labels, annotated, without: hidden } = value as Partial<Heading>;
  return isTextList([uid, use]) && isTextMap(labels) && isTextList(annotated) && isTextList(hidden);
}

function isTextMap(value: unknown): boolean {
  return typeof value === "object" && value !== null && isTextList(Object.values(value));
}

function isTextList(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

/** An annotation that has been removed from the Lease is not shown. */
function picked(map: Readonly<Record<string, string>>, keys: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(keys.flatMap((key) => (Object.hasOwn(map, key) ? [[key, map[key] ?? ""]] : [])));
}

function without(map: Record<string, string>, keys: readonly string[]): Record<string, string> {
  if (keys.length === 0) return map;
  return Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)));
}
