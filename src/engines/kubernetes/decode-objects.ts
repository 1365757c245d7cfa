/** From the JSON of an answer to the frozen objects that the port hands out. */
import { ApiError } from "#kube/api-error.ts";
import type { ObjectList } from "#kube/object-client.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { ApiObject } from "#model/meta.ts";
import { apiVersionOf, type ResourceType } from "#model/resource.ts";

export interface DecodeOptions {
  /** Nothing of ours reads them, and they are often half of an object. */
  readonly keepManagedFields: boolean;
}

/** As JSON.parse leaves it. */
interface WireObject {
  apiVersion?: string;
  kind?: string;
  metadata?: { managedFields?: unknown };
}

interface WireList<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string; readonly remainingItemCount?: number };
  readonly items?: readonly T[] | null;
}

export function parseJson(text: string, request: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new ApiError("Unknown", `${request} was answered with something that is not JSON: ${text.slice(0, 200)}`, { cause: error });
  }
}

/** Shapes `wire`, which must be ours alone: it is changed and frozen. */
export function decodeObject<T extends ApiObject>(type: ResourceType<T>, wire: unknown, options: DecodeOptions): T {
  const object = wire as WireObject;
  if (!options.keepManagedFields && object.metadata?.managedFields !== undefined) delete object.metadata.managedFields;
  // Items of a list come without them when the kind is built in.
  if (object.kind === undefined) return deepFreeze({ apiVersion: apiVersionOf(type), kind: type.kind, ...object } as unknown as T);
  return deepFreeze(object as unknown as T);
}

export function decodeList<T extends ApiObject>(type: ResourceType<T>, wire: unknown, options: DecodeOptions): ObjectList<T> {
  const { metadata = {}, items } = wire as WireList<T>;
  return Object.freeze({
    items: Object.freeze((items ?? []).map((item) => decodeObject(type, item, options))),
    resourceVersion: metadata.resourceVersion ?? "",
    ...withoutUndefined({ continue: metadata.continue || undefined, remainingItemCount: metadata.remainingItemCount }),
  });
}
