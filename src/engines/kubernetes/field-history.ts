/**
 * Pods without `managedFields`. An API server works out at every write who has set which field, and tells all watchers; of a write of a pod
 * that is half of its work (ADR 51). It stops where the list is empty, and a list with one empty entry means: empty it. Only of pods, all of
 * which are made by a pool: whatever users write themselves keeps its history, by which `kubectl apply` finds conflicts.
 */
import type { Patch } from "#model/patch.ts";
import { Pods } from "#model/pod.ts";
import { resourceName, type ResourceType } from "#model/resource.ts";

const emptied = { op: "add", path: "/metadata/managedFields", value: [{}] } as const;

/** The same change, with which the server forgets who set what so far. */
export function withoutFieldHistory(type: ResourceType, patch: Patch): Patch {
  if (resourceName(type) !== resourceName(Pods) || patch.type !== "json") return patch;
  return { type: "json", operations: [...patch.operations, emptied] };
}
