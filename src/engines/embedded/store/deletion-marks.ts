/** What a delete writes into an object that cannot go yet. Pure: objects and times in, an object out. */
import type { DeleteOptions } from "#kube/object-client.ts";
import { kubernetesTime } from "#lib/clock.ts";
import type { ApiObject } from "#model/meta.ts";
import type { Pod } from "#model/pod.ts";
import { foregroundFinalizer, orphanFinalizer } from "./collector-note.ts";

/** How long an object may take to end. */
export type Grace =
  /** The kind has no grace periods, or this object's is over. */
  | { readonly kind: "none" }
  /** It is ending already, and this delete does not hurry it. */
  | { readonly kind: "pending" }
  | { readonly kind: "granted"; readonly seconds: number; readonly object: ApiObject };

/** The grace period that a delete gives a pod: only a pod on a node that has not ended needs one, and it only gets shorter. */
export function graceOf(pod: Pod, asked: number | undefined, now: number): Grace {
  const wished = asked !== undefined && asked < 0 ? 1 : asked;
  if (pod.metadata.deletionTimestamp !== undefined) return shorterGrace(pod, pod.metadata.deletionTimestamp, wished, now);
  const needsNone =
    pod.spec.nodeName === undefined || pod.spec.nodeName === "" || ["Succeeded", "Failed"].includes(pod.status?.phase ?? "");
  const own = pod.spec.terminationGracePeriodSeconds ?? 0;
  const seconds = needsNone ? 0 : (wished ?? (own < 0 ? 1 : own));
  return { kind: "granted", seconds, object: marked(raised(pod), now + seconds * 1000, seconds) };
}

function shorterGrace(pod: Pod, until: string, wished: number | undefined, now: number): Grace {
  const granted = pod.metadata.deletionGracePeriodSeconds ?? 0;
  if (granted === 0) return { kind: "none" };
  if (wished === undefined || wished >= granted) return { kind: "pending" };
  const end = Date.parse(until) - granted * 1000 + wished * 1000;
  if (end >= now) return { kind: "granted", seconds: wished, object: marked(pod, end, wished) };
  // The shorter period is over already. Unless it is 0, the node still has to end the pod, so one second remains.
  return { kind: "granted", seconds: wished, object: marked(pod, now, wished === 0 ? 0 : 1) };
}

/** For kinds without grace periods: deleted now, waiting for finalizers only. */
export function markedDeleted(object: ApiObject, now: number): ApiObject {
  const { deletionTimestamp } = object.metadata;
  if (deletionTimestamp === undefined) return marked(raised(object), now, 0);
  return marked(object, Math.min(Date.parse(deletionTimestamp), now), 0);
}

/**
 * The finalizers with which the garbage collector's part of a delete is remembered. What the delete asks for goes before
 * what the object carries already.
 */
export function collectorFinalizers(
  { metadata }: ApiObject,
  policy: DeleteOptions["propagationPolicy"],
  collected: boolean,
): readonly string[] {
  const current = metadata.finalizers ?? [];
  const wanted =
    policy ?? (current.includes(orphanFinalizer) ? "Orphan" : current.includes(foregroundFinalizer) ? "Foreground" : "Background");
  const kept = current.filter((finalizer) => finalizer !== orphanFinalizer && finalizer !== foregroundFinalizer);
  if (!collected || wanted === "Background") return kept;
  return [...kept, wanted === "Orphan" ? orphanFinalizer : foregroundFinalizer];
}

export function withFinalizers(object: ApiObject, finalizers: readonly string[]): ApiObject {
  const { finalizers: _, ...metadata } = object.metadata;
  return { ...object, metadata: finalizers.length === 0 ? metadata : { ...metadata, finalizers } };
}

function marked(object: ApiObject, until: number, seconds: number): ApiObject {
  return { ...object, metadata: { ...object.metadata, deletionTimestamp: kubernetesTime(until), deletionGracePeriodSeconds: seconds } };
}

/** To be deleted is a change of what the object wants: its generation grows, if it has one. */
function raised<T extends ApiObject>(object: T): T {
  const { generation } = object.metadata;
  return generation === undefined || generation === 0
    ? object
    : { ...object, metadata: { ...object.metadata, generation: generation + 1 } };
}
