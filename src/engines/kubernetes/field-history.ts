/**
 * Pods without `managedFields`. At every write an API server works out which writer has set which field, and sends that to all watchers; for a
 * pod that is half of the work of a write (ADR 51). It stops where the list is empty, and a list with one empty entry empties it. Only for pods,
 * which pools make: objects that users write keep their history, by which `kubectl apply` finds conflicts.
 */
import type { Patch } from "#model/patch.ts";
import { Pods } from "#model/pod.ts";
import { resourceName, type ResourceType } from "#model/resource.ts";

const emptied = { op: "add", path: "/metadata/managedFields", value: [{}] } as const;

/** The same change, which also makes the server drop the history of fields. */
export function withoutFieldHistory(type: ResourceType, patch: Patch): Patch {
  if (resourceName(type) !== resourceName(Pods) || patch.type !== "json") return patch;
  return { type: "json", operations: [...patch.operations, emptied] };
}
