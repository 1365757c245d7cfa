/** The kinds of Kubernetes that AgentBox uses beside pods and its own. */
import type { ApiObject } from "./meta.ts";
import { Pods } from "./pod.ts";
import type { ResourceType } from "./resource.ts";

export interface Namespace extends ApiObject {
  readonly spec?: { readonly finalizers?: readonly string[] };
  readonly status?: { readonly phase?: "Active" | "Terminating" };
}

export interface Secret extends ApiObject {
  readonly type?: string;
  /** Base64. */
  readonly data?: Readonly<Record<string, string>>;
  /** Write-only: the server folds it into `data`. */
  readonly stringData?: Readonly<Record<string, string>>;
  readonly immutable?: boolean;
}

export interface ConfigMap extends ApiObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
  readonly immutable?: boolean;
}

export interface ObjectReference {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly fieldPath?: string;
}

/** v1 Event: something that happened to an object, for people. */
export interface ObjectEvent extends ApiObject {
  readonly involvedObject: ObjectReference;
  readonly reason?: string;
  readonly message?: string;
  readonly type?: string;
  readonly count?: number;
  readonly firstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly source?: { readonly component?: string; readonly host?: string };
  readonly reportingComponent?: string;
  readonly reportingInstance?: string;
  readonly action?: string;
}

export interface Lease extends ApiObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    /** RFC 3339 with microseconds. */
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

export const Namespaces: ResourceType<Namespace> = {
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  singular: "namespace",
  shortNames: ["ns"],
  namespaced: false,
  statusSubresource: true,
};

export const Secrets: ResourceType<Secret> = {
  group: "",
  version: "v1",
  kind: "Secret",
  plural: "secrets",
  singular: "secret",
  shortNames: [],
  namespaced: true,
  statusSubresource: false,
};

export const ConfigMaps: ResourceType<ConfigMap> = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  singular: "configmap",
  shortNames: ["cm"],
  namespaced: true,
  statusSubresource: false,
};

export const Events: ResourceType<ObjectEvent> = {
  group: "",
  version: "v1",
  kind: "Event",
  plural: "events",
  singular: "event",
  shortNames: ["ev"],
  namespaced: true,
  statusSubresource: false,
};

export const Leases: ResourceType<Lease> = {
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  singular: "lease",
  shortNames: [],
  namespaced: true,
  statusSubresource: false,
};

export const coreKinds: readonly ResourceType[] = [Pods, Namespaces, Secrets, ConfigMaps, Events, Leases];
