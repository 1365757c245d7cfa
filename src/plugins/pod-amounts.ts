/** What a pod counts, in whole thousandths of a core and bytes, so that sums do not drift. Pure. */
import type { Container, PodSpec } from "#model/pod.ts";
import { quantityNumber } from "#model/quantity.ts";

export interface PodAmounts {
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

type Amount = (container: Container, resource: string) => number;

export const noAmounts: PodAmounts = { cpuMilli: 0, memoryBytes: 0, diskBytes: 0 };

/** What its containers may use together: their limits; without one, the request is the best that is known. Counts for quotas. */
export function usableAmounts(spec: PodSpec | undefined): PodAmounts {
  return amounts(
    spec,
    ({ resources }, resource) => quantity(resources?.limits?.[resource]) ?? quantity(resources?.requests?.[resource]) ?? 0,
  );
}

/** What is kept for it: its requests; without one, a part of the limit. Counts for the room on a machine. */
export function keptAmounts(spec: PodSpec | undefined, limitDivisor: number): PodAmounts {
  return amounts(spec, ({ resources }, resource) => {
    const limit = quantity(resources?.limits?.[resource]);
    return quantity(resources?.requests?.[resource]) ?? (limit === undefined ? 0 : limit / limitDivisor);
  });
}

function amounts(spec: PodSpec | undefined, amountOf: Amount): PodAmounts {
  const containers = spec?.containers ?? [];
  const sum = (resource: string): number => containers.reduce((total, container) => total + amountOf(container, resource), 0);
  return {
    cpuMilli: Math.ceil(Number((sum("cpu") * 1000).toFixed(6))),
    memoryBytes: Math.ceil(sum("memory")),
    diskBytes: Math.ceil(sum("ephemeral-storage")),
  };
}

function quantity(value: string | number | undefined): number | undefined {
  return value === undefined ? undefined : quantityNumber(value);
}
