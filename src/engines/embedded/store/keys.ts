import type { ObjectKey } from "#kube/object-client.ts";
import type { ResourceType } from "#model/resource.ts";
import { badRequest } from "./refusals.ts";

/**
 * Objects are kept under `namespace/name`, or `name` if their kind has no namespaces. The order of these texts is the order
 * of lists, as it is on etcd: `a-b/x` comes before `a/x`.
 */
export function storeKey(type: ResourceType, key: ObjectKey): string {
  if (!type.namespaced) return key.name;
  if (key.namespace === undefined || key.namespace === "")
    throw badRequest("an empty namespace may not be set when a resource name is provided");
  return `${key.namespace}/${key.name}`;
}

/** Which keys belong to a namespace; all when none is given. */
export function namespacePrefix(type: ResourceType, namespace: string | undefined): string {
  return type.namespaced && namespace !== undefined && namespace !== "" ? `${namespace}/` : "";
}

export function nameOf(key: string): string {
  return key.slice(key.indexOf("/") + 1);
}

export function namespaceOf(key: string): string | undefined {
  const slash = key.indexOf("/");
  return slash < 0 ? undefined : key.slice(0, slash);
}
