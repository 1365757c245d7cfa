/** The kinds of Kubernetes that AgentBox uses beside pods and its own. */
import type { ConfigMap, Event, Lease, Namespace, Secret } from "./kubernetes.generated.ts";
import { Pods } from "./pod.ts";
import type { ResourceType } from "./resource.ts";

// An Event is something else in browsers and in Node.
export type { ConfigMap, Event as ObjectEvent, Lease, Namespace, Secret } from "./kubernetes.generated.ts";

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

export const Events: ResourceType<Event> = {
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
