/**
 * Lists of Kubernetes' kinds whose items have an identity and are merged item by item: another writer may add an item (a service mesh adds a container),
 * and the next apply keeps it. Paths have no positions. Lists of our own kinds are replaced as a whole, as kubectl does with custom resources.
 */
import { resourceName, type ResourceType } from "#model/resource.ts";

/** The field that identifies an item; empty if the items are plain values. */
export type ListKeys = ReadonlyMap<string, string>;

const ofMetadata: readonly [string, string][] = [
  ["metadata.ownerReferences", "uid"],
  ["metadata.finalizers", ""],
];

const ofPod: readonly [string, string][] = [
  ...ofMetadata,
  ...ofContainers("spec.containers"),
  ...ofContainers("spec.initContainers"),
  ...ofContainers("spec.ephemeralContainers"),
  ["spec.volumes", "name"],
  ["spec.imagePullSecrets", "name"],
  ["spec.hostAliases", "ip"],
  ["spec.topologySpreadConstraints", "topologyKey"],
  ["spec.schedulingGates", "name"],
  ["spec.resourceClaims", "name"],
];

function ofContainers(path: string): [string, string][] {
  return [
    [path, "name"],
    [`${path}.ports`, "containerPort"],
    [`${path}.env`, "name"],
    [`${path}.volumeMounts`, "mountPath"],
    [`${path}.volumeDevices`, "devicePath"],
  ];
}

/** Undefined for kinds whose lists are all replaced. */
export function listKeysOf(type: ResourceType): ListKeys | undefined {
  if (resourceName(type) === "pods") return new Map(ofPod);
  const builtIn = type.group === "" || type.group.endsWith(".k8s.io");
  return builtIn ? new Map(ofMetadata) : undefined;
}
