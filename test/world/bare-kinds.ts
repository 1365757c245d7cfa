/** Kinds with hardly any rules, so that the store's own tests speak only of what the store does. */
import type { KindRules, Subresource } from "#engines/embedded/admission/kind-rules.ts";
import type { StatusCause } from "#kube/api-error.ts";
import { ConfigMaps, Events, Leases, type Namespace, Namespaces } from "#model/core-kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { apiVersionOf, type ResourceType } from "#model/resource.ts";

export interface Pool extends ApiObject {
  readonly spec?: { readonly replicas?: number; readonly note?: string };
  readonly status?: { readonly replicas?: number; readonly selector?: string };
}

export const Pools: ResourceType<Pool> = {
  group: "example.com",
  version: "v1",
  kind: "Pool",
  plural: "pools",
  singular: "pool",
  shortNames: [],
  namespaced: true,
  statusSubresource: true,
  scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas", labelSelectorPath: ".status.selector" },
};

/** A kind without namespaces. */
export const Templates: ResourceType = { ...Pools, kind: "Template", plural: "templates", singular: "template", namespaced: false };

type WithStatus = ApiObject & { readonly status?: unknown };

function rulesOf(resource: ResourceType, own: Partial<KindRules> = {}): KindRules {
  return {
    resource,
    normalize: (given) => {
      const object = { apiVersion: apiVersionOf(resource), kind: resource.kind, ...given };
      if (!("surplus" in object)) return { object, unknownFields: [] };
      const { surplus: _, ...known } = object;
      return { object: known, unknownFields: ["surplus"] };
    },
    prepareForCreate: (object) => (resource.statusSubresource ? withStatus(object, undefined) : object),
    prepareForUpdate: (next: WithStatus, current: WithStatus, subresource: Subresource) => {
      if (!resource.statusSubresource) return next;
      return subresource === "status" ? withStatus(current, next.status) : withStatus(next, current.status);
    },
    validateCreate: (object) => nameCauses(object),
    validateUpdate: () => [],
    selectableFields: ({ metadata }) => ({ "metadata.name": metadata.name ?? "", "metadata.namespace": metadata.namespace ?? "" }),
    ...own,
  };
}

function withStatus(object: WithStatus, status: unknown): WithStatus {
  const { status: _, ...rest } = object;
  return status === undefined ? rest : { ...rest, status };
}

function nameCauses({ metadata: { name } }: ApiObject): StatusCause[] {
  if (name === undefined)
    return [{ field: "metadata.name", reason: "FieldValueRequired", message: "Required value: name or generateName is required" }];
  if (/^[a-z0-9.-]+$/.test(name)) return [];
  return [{ field: "metadata.name", reason: "FieldValueInvalid", message: `Invalid value: "${name}": small letters only` }];
}

export const bareKinds: readonly KindRules[] = [
  rulesOf(Namespaces, {
    prepareForCreate: (object): Namespace => ({ ...object, spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } }),
    prepareForUpdate: (next: Namespace, current: Namespace): Namespace => ({
      ...next,
      ...(current.spec && { spec: current.spec }),
      ...(current.status && { status: current.status }),
    }),
  }),
  rulesOf(Pods, {
    prepareForCreate: (object) => withStatus(object, { phase: "Pending" }),
    selectableFields: (object) => {
      const { metadata, spec, status }: Partial<Pod> & ApiObject = object;
      return { "metadata.name": metadata.name ?? "", "spec.nodeName": spec?.nodeName ?? "", "status.phase": status?.phase ?? "" };
    },
  }),
  ...[ConfigMaps, Events, Leases, Pools, Templates].map((resource) => rulesOf(resource)),
];
