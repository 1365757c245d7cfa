/** The downward API: what a pod can be told about itself. */
import { parseQuantity } from "#model/quantity.ts";
import type { StoredContainer } from "#engines/embedded/stored-pod.ts";
import type { DownwardAPIVolumeFile, ResourceFieldSelector } from "#model/kubernetes.generated.ts";
import type { NodePod } from "../node-pod.ts";
import type { NodeCapacity } from "./node-capacity.ts";
import { RenderError } from "./render-error.ts";

export interface PodFacts {
  readonly pod: NodePod;
  readonly podIP: string;
  readonly hostIP: string;
  readonly capacity: NodeCapacity;
}

export function fieldValue(facts: PodFacts, path: string): string {
  const { metadata, spec } = facts.pod;
  const values: Readonly<Record<string, () => string>> = {
    "metadata.name": () => metadata.name,
    "metadata.namespace": () => metadata.namespace,
    "metadata.uid": () => metadata.uid,
    "metadata.labels": () => lines(metadata.labels),
    "metadata.annotations": () => lines(metadata.annotations),
    "spec.nodeName": () => spec.nodeName ?? "",
    "spec.serviceAccountName": () => spec.serviceAccountName ?? "",
    "status.podIP": () => facts.podIP,
    "status.podIPs": () => facts.podIP,
    "status.hostIP": () => facts.hostIP,
    "status.hostIPs": () => facts.hostIP,
  };
  const [, map, key] = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path) ?? [];
  if (key !== undefined) return (map === "labels" ? metadata.labels : metadata.annotations)?.[key] ?? "";
  const value = Object.hasOwn(values, path) ? values[path] : undefined;
  if (value === undefined) throw new RenderError("config", `a pod has no field ${path} that it can be told`);
  return value();
}

/** `key="value"`, one in a line, in order. */
function lines(map: Readonly<Record<string, string>> = {}): string {
  return Object.keys(map)
    .sort()
    .map((key) => `${key}=${JSON.stringify(map[key])}`)
    .join("\n");
}

/** Rounded up to whole divisors. A limit that is not set is the machine's. */
export function resourceValue(facts: PodFacts, own: StoredContainer, { resource, divisor, containerName }: ResourceFieldSelector): string {
  const containers = [...facts.pod.spec.containers, ...(facts.pod.spec.initContainers ?? [])];
  const container = containerName === undefined ? own : containers.find(({ name }) => name === containerName);
  if (container === undefined) throw new RenderError("config", `the pod has no container ${containerName} whose ${resource} could be told`);
  const [list = "", name = ""] = resource.split(/\.(.*)/s);
  const amounts = list === "limits" ? { ...facts.capacity, ...container.resources?.limits } : { ...container.resources?.requests };
  const amount = parseQuantity((amounts as Readonly<Record<string, string | number>>)[name] ?? "0").nanos;
  const unit = parseQuantity(divisor ?? "0").nanos || parseQuantity("1").nanos;
  return String((amount + unit - 1n) / unit);
}

export function downwardContent(
  facts: PodFacts,
  own: StoredContainer,
  { fieldRef, resourceFieldRef, path }: DownwardAPIVolumeFile,
): string {
  if (fieldRef !== undefined) return fieldValue(facts, fieldRef.fieldPath);
  if (resourceFieldRef !== undefined) return resourceValue(facts, own, resourceFieldRef);
  throw new RenderError("volume", `the file ${path} names nothing to be written into it`);
}
