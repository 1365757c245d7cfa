/** How big a sandbox is: what its containers may use together. */
import { quantityNumber } from "#model/quantity.ts";
import type { Container, Pod } from "#model/pod.ts";

/** Quantities as Kubernetes writes them; a resource that no container limits or asks for is left out. */
export function podResources({ spec }: Pod): { readonly cpu?: string; readonly memory?: string } {
  const cpu = sum(spec.containers, "cpu");
  const memory = sum(spec.containers, "memory");
  return {
    ...(cpu === undefined ? {} : { cpu: formatCpu(cpu) }),
    ...(memory === undefined ? {} : { memory: formatBytes(memory) }),
  };
}

/** What it may write; undefined when no container says. */
export function podDisk({ spec }: Pod): string | undefined {
  const disk = sum(spec.containers, "ephemeral-storage");
  return disk === undefined ? undefined : formatBytes(disk);
}

/** A limit is what the container may use; without one, its request is the best that is known. */
function sum(containers: readonly Container[], resource: "cpu" | "memory" | "ephemeral-storage"): number | undefined {
  const amounts = containers.flatMap(({ resources }) => {
    const amount = quantityNumber(resources?.limits?.[resource] ?? resources?.requests?.[resource]);
    return amount === undefined ? [] : [amount];
  });
  return amounts.length === 0 ? undefined : amounts.reduce((total, amount) => total + amount, 0);
}

function formatCpu(cores: number): string {
  const thousandths = Math.ceil(Number((cores * 1000).toFixed(6)));
  return thousandths % 1000 === 0 ? String(thousandths / 1000) : `${thousandths}m`;
}

const units = [
  ["Ti", 2 ** 40],
  ["Gi", 2 ** 30],
  ["Mi", 2 ** 20],
  ["Ki", 2 ** 10],
] as const;

function formatBytes(bytes: number): string {
  const whole = Math.ceil(bytes);
  const [unit, factor] = units.find(([, size]) => whole > 0 && whole % size === 0) ?? ["", 1];
  return `${whole / factor}${unit}`;
}
