import type { ObjectKey } from "#kube/object-client.ts";
import { apiVersionOf, type ResourceType } from "#model/resource.ts";

/** What a path of the API speaks of. */
export type Route =
  | { readonly to: "collection"; readonly type: ResourceType; readonly namespace: string | undefined }
  | { readonly to: "item"; readonly type: ResourceType; readonly key: ObjectKey; readonly subresource: Subresource | undefined }
  | { readonly to: "document"; readonly path: string };

export type Subresource = "status" | "scale";

/** Turns paths into routes; undefined when nothing is served there. */
export type Router = (path: string) => Route | undefined;

const documents = new Set(["/healthz", "/livez", "/readyz", "/version", "/api", "/apis"]);

export function routerFor(kinds: readonly ResourceType[]): Router {
  const byPath = new Map(kinds.map((type) => [`${apiVersionOf(type)}/${type.plural}`, type]));
  return (path) => {
    const segments = pathSegments(path);
    if (segments === undefined) return undefined;
    const [root, ...below] = segments;
    if (root === "api") return resourceRoute(byPath, below.slice(0, 1), below.slice(1)) ?? documentRoute(path);
    if (root === "apis") return resourceRoute(byPath, below.slice(0, 2), below.slice(2)) ?? documentRoute(path);
    return documentRoute(path);
  };
}

function documentRoute(path: string): Route | undefined {
  return documents.has(path) ? { to: "document", path } : undefined;
}

function resourceRoute(
  byPath: ReadonlyMap<string, ResourceType>,
  apiVersion: readonly string[],
  below: readonly string[],
): Route | undefined {
  const find = (plural: string): ResourceType | undefined => byPath.get(`${apiVersion.join("/")}/${plural}`);
  const [first, second, third, ...rest] = below;
  if (first === undefined) return undefined;
  // `namespaces/x/pods` lies in a namespace; `namespaces/x` and `namespaces/x/status` are the namespace itself.
  if (first === "namespaces" && second !== undefined && third !== undefined && !isSubresource(third)) {
    const type = find(third);
    return type?.namespaced === true ? routeWithin(type, second, rest) : undefined;
  }
  const type = find(first);
  if (type === undefined) return undefined;
  if (second === undefined) return { to: "collection", type, namespace: undefined };
  return type.namespaced ? undefined : routeWithin(type, undefined, below.slice(1));
}

function routeWithin(type: ResourceType, namespace: string | undefined, below: readonly string[]): Route | undefined {
  const [name, subresource, ...rest] = below;
  if (rest.length > 0) return undefined;
  if (name === undefined) return { to: "collection", type, namespace };
  if (subresource !== undefined && !offers(type, subresource)) return undefined;
  return { to: "item", type, key: { namespace, name }, subresource };
}

function offers(type: ResourceType, subresource: string): subresource is Subresource {
  return (subresource === "status" && type.statusSubresource) || (subresource === "scale" && type.scale !== undefined);
}

function isSubresource(segment: string): segment is Subresource {
  return segment === "status" || segment === "scale";
}

/** The decoded parts of a path; undefined when a part is empty or not decodable, which names nothing. */
function pathSegments(path: string): readonly string[] | undefined {
  try {
    const segments = path.split("/").slice(1).map(decodeURIComponent);
    return segments.includes("") ? undefined : segments;
  } catch {
    return undefined;
  }
}
