import type { ApiObject } from "#model/meta.ts";
import type { Patch } from "#model/patch.ts";
import type { ResourceType } from "#model/resource.ts";

export type { JsonPatchOperation, Patch } from "#model/patch.ts";

/**
 * The port between AgentBox and whatever keeps its objects: a Kubernetes API server or the embedded store.
 *
 * It has the API server's own semantics, so that everything above runs unchanged on both:
 * - `resourceVersion` is opaque and grows; a write that carries an old one fails with Conflict.
 * - `generation` grows when something outside metadata and status changes.
 * - An object with finalizers is not removed by delete; it gets a deletionTimestamp and goes with its last finalizer.
 * - Returned objects are frozen and shared. Never change one; build another.
 * Every failure is an ApiError, except an abort by the caller's own signal, which rejects with the signal's reason.
 */
export interface ObjectClient {
  get<T extends ApiObject>(type: ResourceType<T>, key: ObjectKey, options?: CallOptions): Promise<T>;

  list<T extends ApiObject>(type: ResourceType<T>, options?: ListOptions): Promise<ObjectList<T>>;

  /**
   * Changes after `resourceVersion`, in order. Without one: first an ADDED for each object that is there, then changes.
   * The iteration ends when the server ends the watch (start again from the last version seen) and throws
   * Expired when that version is too old (list again).
   */
  watch<T extends ApiObject>(type: ResourceType<T>, options?: WatchOptions): AsyncIterable<WatchEvent<T>>;

  create<T extends ApiObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<T>;

  /** Replaces the object. With `metadata.resourceVersion` set it is conditional, without it is not. */
  update<T extends ApiObject>(type: ResourceType<T>, object: T, options?: SubresourceOptions): Promise<T>;

  patch<T extends ApiObject>(type: ResourceType<T>, key: ObjectKey, patch: Patch, options?: SubresourceOptions): Promise<T>;

  /** Resolves when the delete is accepted: the object is gone, or terminating if it has finalizers or a grace period. */
  delete(type: ResourceType, key: ObjectKey, options?: DeleteOptions): Promise<void>;

  getScale(type: ResourceType, key: ObjectKey, options?: CallOptions): Promise<Scale>;
  updateScale(type: ResourceType, key: ObjectKey, scale: Scale, options?: WriteOptions): Promise<Scale>;
  patchScale(type: ResourceType, key: ObjectKey, patch: Patch, options?: WriteOptions): Promise<Scale>;
}

export interface ObjectKey {
  /** Left out for cluster-scoped kinds. */
  readonly namespace?: string | undefined;
  readonly name: string;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface ListOptions extends CallOptions {
  /** All namespaces when left out. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
}

export interface ObjectList<T extends ApiObject> {
  readonly items: readonly T[];
  /** The state of the whole store that the list shows: where a watch goes on. */
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

export interface WatchOptions extends CallOptions {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly resourceVersion?: string | undefined;
  /** Ask for BOOKMARK events, which move the resume point forward while nothing matches. */
  readonly bookmarks?: boolean | undefined;
  /** The server ends the watch after this time. */
  readonly timeoutSeconds?: number | undefined;
}

export type WatchEvent<T extends ApiObject> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string };

export interface WriteOptions extends CallOptions {
  readonly dryRun?: boolean | undefined;
  /** What happens to fields that the kind does not have. The API's own default, Warn, drops them silently here. */
  readonly fieldValidation?: "Ignore" | "Warn" | "Strict" | undefined;
  /** The writer's name, as recorded in managedFields where the server keeps them. */
  readonly fieldManager?: string | undefined;
}

export interface SubresourceOptions extends WriteOptions {
  readonly subresource?: "status" | undefined;
}

export interface DeleteOptions extends CallOptions {
  readonly preconditions?: { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined } | undefined;
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan" | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  readonly dryRun?: boolean | undefined;
}

/** autoscaling/v1 Scale. */
export interface Scale extends ApiObject {
  readonly spec: { readonly replicas: number };
  readonly status?: { readonly replicas: number; readonly selector?: string };
}

/** What every scale subresource speaks, whatever the kind: no kind of its own, but read and written like one. */
export const Scales: ResourceType<Scale> = {
  group: "autoscaling",
  version: "v1",
  kind: "Scale",
  plural: "scales",
  singular: "scale",
  shortNames: [],
  namespaced: true,
  statusSubresource: false,
};
