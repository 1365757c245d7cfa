/**
 * A pod as a process shows it to its own code can be ahead of the pod that the object server holds: an engine may write a claim to another object
 * first (engine-port/claim-book.ts). Readers see one pod with its claim. Only code that writes the pod asks what the server holds: its patch is
 * the difference to that.
 *
 * What the server holds is kept beside the shown pod and not in it, so a pod has the fields of Kubernetes and no others. A copy of a shown pod is not
 * a shown pod.
 */
import type { Pod } from "./pod.ts";

const stored = new WeakMap<Pod, Pod>();

/** The pod, shown with these labels and annotations. */
export function podShownWith(pod: Pod, { labels, annotations }: Required<Pick<Pod["metadata"], "labels" | "annotations">>): Pod {
  const held = storedPod(pod);
  const shown = Object.freeze({ ...held, metadata: Object.freeze({ ...held.metadata, labels, annotations }) });
  stored.set(shown, held);
  return shown;
}

/** The pod that the server holds. */
export function storedPod(pod: Pod): Pod {
  return stored.get(pod) ?? pod;
}

/** True while the pod's claim, or the mark that closes it to claims, is not written on the pod itself. */
export function isClaimElsewhere(pod: Pod): boolean {
  return stored.has(pod);
}
