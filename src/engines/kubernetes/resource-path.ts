/** Where a kind's objects live on an API server, and how options are written behind the question mark. */
import { ApiError } from "#kube/api-error.ts";
import type { ObjectKey } from "#kube/object-client.ts";
import { resourceName, type ResourceType } from "#model/resource.ts";

/** All objects of the kind, or those of one namespace. */
export function collectionPath(type: ResourceType, namespace?: string): string {
  const group = type.group === "" ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  const scope = type.namespaced && namespace !== undefined && namespace !== "" ? `/namespaces/${segment(namespace, "namespace")}` : "";
  return `${group}${scope}/${type.plural}`;
}

/** Where objects of the kind are created. */
export function creationPath(type: ResourceType, namespace: string | undefined): string {
  if (type.namespaced && (namespace === undefined || namespace === "")) {
    throw new ApiError("BadRequest", `${resourceName(type)} live in namespaces: a namespace is required`);
  }
  return collectionPath(type, namespace);
}

export type Subresource = "status" | "scale" | "log" | "exec";

export function objectPath(type: ResourceType, key: ObjectKey, subresource?: Subresource): string {
  const path = `${creationPath(type, key.namespace)}/${segment(key.name, "name")}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** `?a=1&b=2` of what is defined; nothing when nothing is. */
export function query(parameters: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const defined = Object.entries(parameters).filter((entry) => entry[1] !== undefined);
  const text = new URLSearchParams(defined.map(([name, value]) => [name, String(value)])).toString();
  return text === "" ? "" : `?${text}`;
}

/** A name must stay one segment of the path, whatever is in it: `..` or `a/b` would address something else. */
function segment(name: string, what: string): string {
  if (name === "" || name === "." || name === ".." || /[/%]/.test(name) || !name.isWellFormed()) {
    const rule = 'it must be well-formed text, not "." or "..", and without "/" or "%"';
    throw new ApiError("BadRequest", `${what} ${JSON.stringify(name)} cannot be part of a path: ${rule}`);
  }
  return encodeURIComponent(name);
}
