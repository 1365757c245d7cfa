/** Kinds that only clusters have; the embedded store does not know them. */
import type { ApiObject, Condition } from "./meta.ts";
import type { ResourceType } from "./resource.ts";

/** The parts of a node that we read. */
export interface ClusterNode extends ApiObject {
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: {
    readonly conditions?: readonly Pick<Condition, "type" | "status">[];
    readonly nodeInfo?: { readonly kubeletVersion?: string; readonly containerRuntimeVersion?: string };
    /** One for each way of running containers; the usual one has no name. */
    readonly runtimeHandlers?: readonly { readonly name?: string; readonly features?: { readonly userNamespaces?: boolean } }[];
  };
}

export interface ServiceAccount extends ApiObject {
  readonly imagePullSecrets?: readonly { readonly name?: string }[];
}

export const ClusterNodes: ResourceType<ClusterNode> = {
  group: "",
  version: "v1",
  kind: "Node",
  plural: "nodes",
  singular: "node",
  shortNames: ["no"],
  namespaced: false,
  statusSubresource: true,
};

export const ServiceAccounts: ResourceType<ServiceAccount> = {
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  singular: "serviceaccount",
  shortNames: ["sa"],
  namespaced: true,
  statusSubresource: false,
};
