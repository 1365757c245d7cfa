import type { ApiObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";

/**
 * Throws ApiError Invalid, with the fields, for a template or a pool whose pods no server would take. `present`: what is replaced. Left out
 * where the object server checks the pods inside templates itself.
 */
export type CheckPodTemplate = (type: ResourceType, next: ApiObject, present?: ApiObject) => void;
