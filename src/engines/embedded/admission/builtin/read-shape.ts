import { ApiError } from "#kube/api-error.ts";
import type { ApiObject } from "#model/meta.ts";
import { apiVersionOf, type ResourceType } from "#model/resource.ts";
import { asRecord, type JsonRecord } from "../json.ts";
import { UnreadableError } from "./scalars.ts";
import { decodeObject, type Shape } from "./shape.ts";

/** Reads an object of one of Kubernetes' own kinds: what comes out has the types that the shape says. */
export function readBuiltIn(
  resource: ResourceType,
  shape: Shape,
  object: ApiObject,
): { object: ApiObject; unknownFields: readonly string[] } {
  const { value, unknownFields } = readShape(resource, shape, asRecord(object));
  // Every shape that is given here has apiVersion, kind and metadata.
  const read = value as unknown as ApiObject;
  if (read.apiVersion !== apiVersionOf(resource)) {
    throw unreadableObject(resource, `the object is of version ${read.apiVersion}, not ${apiVersionOf(resource)}`);
  }
  if (read.kind !== resource.kind) throw unreadableObject(resource, `the object is a ${read.kind}`);
  return { object: read, unknownFields };
}

export function readShape(resource: ResourceType, shape: Shape, value: JsonRecord): ReturnType<typeof decodeObject> {
  try {
    return decodeObject(shape, value);
  } catch (error) {
    throw error instanceof UnreadableError ? unreadableObject(resource, error.message) : error;
  }
}

export function unreadableObject(resource: ResourceType, why: string): ApiError {
  return new ApiError("BadRequest", `${resource.kind} in version "${resource.version}" cannot be handled as a ${resource.kind}: ${why}`);
}
