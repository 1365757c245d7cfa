import { parseQuantity } from "#model/quantity.ts";
import type { Pod } from "#model/pod.ts";
import type { Capacity } from "./pod-use.ts";

/** What a sandbox may use at most: the limits of its containers together, and all of its machine where one of them has none. */
export function limitsOf(pod: Pod, machine: Capacity): Capacity {
  return {
    cpus: limitOf(pod, "cpu") ?? machine.cpus,
    memoryBytes: limitOf(pod, "memory") ?? machine.memoryBytes,
    diskBytes: limitOf(pod, "ephemeral-storage") ?? machine.diskBytes,
  };
}

function limitOf({ spec }: Pod, resource: "cpu" | "memory" | "ephemeral-storage"): number | undefined {
  let total = 0;
  for (const { resources } of spec.containers) {
    const limit = parseQuantity(resources?.limits?.[resource]);
    if (limit === undefined || limit <= 0) return undefined;
    total += limit;
  }
  return total === 0 ? undefined : total;
}
