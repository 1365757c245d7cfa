import { parseQuantity } from "#model/quantity.ts";
import type { StoredContainer, StoredPodSpec } from "#engines/embedded/stored-pod.ts";
import type { ResourceRequirements } from "#model/kubernetes.generated.ts";

const counted = ["cpu", "memory"];

/** The pod's quality of service: it decides which pods are stopped first when the node runs out of memory. */
export function qosClass(spec: StoredPodSpec): "Guaranteed" | "Burstable" | "BestEffort" {
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const asks = containers.some(({ resources }) =>
    counted.some((name) => amount(resources.requests, name) > 0n || amount(resources.limits, name) > 0n),
  );
  if (!asks) return "BestEffort";
  return containers.every(isGuaranteed) ? "Guaranteed" : "Burstable";
}

function isGuaranteed({ resources }: StoredContainer): boolean {
  return counted.every((name) => {
    const limit = amount(resources.limits, name);
    return limit > 0n && amount(resources.requests, name) === limit;
  });
}

function amount(list: ResourceRequirements["limits"], name: string): bigint {
  const text = list?.[name];
  return text === undefined ? 0n : parseQuantity(text).nanos;
}
