import { randomUUID } from "node:crypto";
import { kubernetesTime } from "#lib/clock.ts";
import type { ObjectMeta } from "#model/meta.ts";

/** What a new object gets from the server, whatever the client said. */
export function newMetadata(given: ObjectMeta, now: number): ObjectMeta {
  const { resourceVersion: _version, deletionTimestamp: _time, deletionGracePeriodSeconds: _grace, ...metadata } = given;
  return { ...metadata, uid: randomUUID(), creationTimestamp: kubernetesTime(now) };
}

/**
 * The metadata of an update. What the server owns stays as it is; a change that the client asks for by name is left in, so
 * that the kind's rules can refuse it.
 */
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
