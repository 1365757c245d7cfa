/**
 * Claims that stand beside their pod, on a Lease of the same name (ADR 54). On a cluster a write of a pod wakes its kubelet, the scheduler and
 * every other watcher of pods; a Lease is small and has no watcher but us. So the one write that decides which request gets a pod is a write of
 * its Lease. The cache shows the claim as if it stood on the pod, until the next write of the pod takes it along.
 *
 * A Lease is about one use of one pod: about another pod, another use, or a pod that is no longer idle it says nothing. So the order in which
 * the two arrive does not matter, and a Lease left over from an earlier use needs no tidying.
 */
import type { Lease } from "./core-kinds.ts";
import { annotationKeys, labelKeys } from "./keys.ts";
import type { Pod } from "./pod.ts";

/** What a Lease adds to its pod. */
export interface ClaimNote {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Annotations of the pod that are not shown any more. */
  readonly without: readonly string[];
}

/**
 * The Lease's own annotation, as JSON: which pod and use it is about, and all of the note but annotations. Annotations stand on the Lease as they will on the pod, which has
 * the same limits; here are their names. The Lease's owner reference is not used: deleting a pod with orphaned dependents removes it.
 */
interface Heading {
  readonly uid: string;
  readonly use: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotated: readonly string[];
  readonly without: readonly string[];
}

/** A pod as it is shown: `stored` is what the server has of it, where a claim is shown on it that it does not carry itself but its `lease`. */
type ShownPod = Pod & { readonly stored?: Pod; readonly lease?: Lease };

/** What the server has of the pod. */
export function storedPod(pod: Pod): Pod {
  return (pod as ShownPod).stored ?? pod;
}

/** The Lease whose claim is shown on the pod. */
export function leaseShownOn(pod: Pod): Lease | undefined {
  return (pod as ShownPod).lease;
}

/** True while the pod's claim stands only on its Lease. */
export function isClaimBeside(pod: Pod): boolean {
  return storedPod(pod) !== pod;
}

/** The pod with what its Lease says of this use of it. The same object when that is nothing. */
export function podWithClaim(shown: Pod, lease: Lease | undefined): Pod {
  const pod = storedPod(shown);
  const note = lease === undefined ? undefined : noteAbout(pod, lease);
  if (lease === undefined || note === undefined) return pod;
  const labels = Object.freeze({ ...pod.metadata.labels, ...note.labels });
  const annotations = Object.freeze(without({ ...pod.metadata.annotations, ...note.annotations }, note.without));
  const withClaim: ShownPod = { ...pod, metadata: Object.freeze({ ...pod.metadata, labels, annotations }), stored: pod, lease };
  return Object.freeze(withClaim);
}

/** What the Lease says of the pod as it is now; undefined when it speaks of something else. */
export function noteAbout(pod: Pod, lease: Lease): ClaimNote | undefined {
  if (pod.metadata.labels?.[labelKeys.sandboxPhase] !== "idle") return undefined;
  const heading = headingOf(lease);
  if (heading?.uid !== pod.metadata.uid || heading?.use !== useOf(pod)) return undefined;
  const { labels, annotated, without: hidden } = heading;
  return { labels, annotations: picked(lease.metadata.annotations ?? {}, annotated), without: hidden };
}

/** True when the Lease speaks of a later use: the pod was seen before that one began, and nothing may be said of it any more. */
export function isOfLaterUse(pod: Pod, lease: Lease): boolean {
  const heading = headingOf(lease);
  return heading?.uid === pod.metadata.uid && Number(heading?.use) > Number(useOf(pod));
}

/** False for a Lease that no claim or closing has written: it belongs to another program, whatever its name. */
export function isClaimLease(lease: Lease): boolean {
  return headingOf(lease) !== undefined;
}

/** The Lease that says so of the pod as it is now. `held` is the one that it takes the place of. */
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
      // With its pod it goes.
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

/** Undefined for what no claim of ours has written. */
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

/** An annotation that was removed from the Lease is not shown. */
function picked(map: Readonly<Record<string, string>>, keys: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(keys.flatMap((key) => (Object.hasOwn(map, key) ? [[key, map[key] ?? ""]] : [])));
}

function without(map: Record<string, string>, keys: readonly string[]): Record<string, string> {
  if (keys.length === 0) return map;
  return Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)));
}
