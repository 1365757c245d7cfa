/**
 * Removes fields that a server sends and that no code here reads, before an object is cached.
 * It is pure, and gives back the same object when there is nothing to take: the embedded store's objects are then shared, not copied.
 */
import type { ApiObject, ObjectMeta } from "#model/meta.ts";

export type Strip<T extends ApiObject> = (object: T) => T;

/** kubectl keeps the whole object here a second time. */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/** Without managedFields (a third of a typical pod) and without kubectl's copy. */
export function stripBallast<T extends ApiObject>(object: T): T {
  const { metadata } = object;
  const hasCopy = metadata.annotations !== undefined && Object.hasOwn(metadata.annotations, lastApplied);
  if (metadata.managedFields === undefined && !hasCopy) return object;
  return Object.freeze({ ...object, metadata: Object.freeze(leanMetadata(metadata, hasCopy)) });
}

function leanMetadata(metadata: ObjectMeta, hasCopy: boolean): ObjectMeta {
  const { managedFields: _, ...lean } = metadata;
  if (!hasCopy) return lean;
  const { [lastApplied]: _copy, ...annotations } = metadata.annotations ?? {};
  return { ...lean, annotations: Object.freeze(annotations) };
}
