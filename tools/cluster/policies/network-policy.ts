/** NetworkPolicies of Kubernetes, as far as they can be written. */
import type { ApiObject, LabelSelector } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";

export interface NetworkPolicy extends ApiObject {
  readonly spec: {
    readonly podSelector?: LabelSelector;
    readonly policyTypes?: readonly PolicyType[];
    readonly ingress?: readonly { readonly from?: readonly PolicyPeer[]; readonly ports?: readonly PolicyPort[] }[];
    readonly egress?: readonly { readonly to?: readonly PolicyPeer[]; readonly ports?: readonly PolicyPort[] }[];
  };
}

export type PolicyType = "Ingress" | "Egress";

export interface PolicyPeer {
  readonly podSelector?: LabelSelector;
  readonly namespaceSelector?: LabelSelector;
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
}

export interface PolicyPort {
  readonly protocol?: Protocol;
  /** A number, or the name that a container gave to one of its ports. */
  readonly port?: number | string;
  readonly endPort?: number;
}

export type Protocol = "TCP" | "UDP" | "SCTP";

export const NetworkPolicies: ResourceType<NetworkPolicy> = {
  group: "networking.k8s.io",
  version: "v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  singular: "networkpolicy",
  shortNames: ["netpol"],
  namespaced: true,
  statusSubresource: false,
};
