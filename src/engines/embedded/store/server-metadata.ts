import { randomUUID } from "node:crypto";
import type { StatusCause } from "#kube/api-error.ts";
import { kubernetesTime } from "#lib/clock.ts";
import type { ApiObject, Json, JsonObject, ObjectMeta } from "#model/meta.ts";
import { asJson, isJsonArray, isJsonObject, without } from "./json-tree.ts";
import { immutableField, invalidValue } from "./refusals.ts";

/** Maps and lists that say the same when they are empty as when they are left out, so they are left out. */
const emptyIsAbsent = ["labels", "annotations", "finalizers", "ownerReferences"];

/** Parts of metadata that no client decides and that we do not keep. */
const notKept = ["selfLink", "managedFields"];

/** The metadata of a request, reduced to what means something. */
export function tidyMetadata(metadata: Json | undefined): JsonObject {
  if (!isJsonObject(metadata)) return {};
  const meaningless = Object.keys(metadata).filter((key) => {
    const value = metadata[key];
    return value === null || value === "" || notKept.includes(key) || (emptyIsAbsent.includes(key) && isEmpty(value));
  });
  return without(metadata, ...meaningless);
}

/** What a new object gets from the server, whatever the client said. */
export function newMetadata(metadata: ObjectMeta, now: number): ObjectMeta {
  const { resourceVersion: _version, deletionTimestamp: _time, deletionGracePeriodSeconds: _grace, ...given } = metadata;
  return { ...given, uid: randomUUID(), creationTimestamp: kubernetesTime(now) };
}

/** The metadata of an update: what the server owns stays as it is, so that only `updateCauses` can object to it. */
export function updatedMetadata(next: ObjectMeta, current: ObjectMeta): ObjectMeta {
  const merged = {
    ...next,
    name: current.name,
    namespace: current.namespace,
    uid: next.uid ?? current.uid,
    resourceVersion: current.resourceVersion,
    generation: current.generation,
    creationTimestamp: current.creationTimestamp,
    deletionTimestamp: current.deletionTimestamp ?? next.deletionTimestamp,
    deletionGracePeriodSeconds: next.deletionGracePeriodSeconds ?? current.deletionGracePeriodSeconds,
  };
  // Undefined stands for "has none"; the object must not have the field then.
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined));
}

/** What an update may not do to the metadata that the server owns. */
export function updateCauses(next: ObjectMeta, current: ObjectMeta): StatusCause[] {
  const causes: StatusCause[] = [];
  if (current.deletionTimestamp !== undefined) {
    const added = (next.finalizers ?? []).filter((finalizer) => current.finalizers?.includes(finalizer) !== true);
    if (added.length > 0) causes.push(newFinalizers(added));
  }
  for (const field of ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] as const) {
    if (next[field] !== current[field]) causes.push(immutableField(`metadata.${field}`, next[field]));
  }
  return causes;
}

function newFinalizers(added: readonly string[]): StatusCause {
  const list = `[]string{${added.map((finalizer) => JSON.stringify(finalizer)).join(", ")}}`;
  const message = `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers ${list}`;
  return { field: "metadata.finalizers", reason: "FieldValueForbidden", message };
}

/** A kind with a scale subresource cannot want a negative number of replicas, whatever its schema says. */
export function replicaCauses(object: ApiObject, specReplicasPath: string | undefined): StatusCause[] {
  const replicas = specReplicasPath === undefined ? undefined : readPath(asJson(object), specReplicasPath);
  if (specReplicasPath === undefined || typeof replicas !== "number" || replicas >= 0) return [];
  return [invalidValue(specReplicasPath, String(replicas), "should be a non-negative integer")];
}

/** The value at a path such as `.spec.replicas`. */
export function readPath(object: JsonObject, path: string): Json | undefined {
  return path
    .split(".")
    .slice(1)
    .reduce<Json | undefined>((value, key) => (isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined), object);
}

function isEmpty(value: Json | undefined): boolean {
  if (isJsonArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}
