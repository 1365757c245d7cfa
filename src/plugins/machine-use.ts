/**
 * What the pools of a machine take of it together. A pod counts for what it requests of cpu, memory and disk; where it requests nothing, for
 * its limit ÷ `limitDivisor`; and at least for what an idle one costs. Kept at every change of a pool, because growth asks for it.
 */
import { KeptSums } from "#lib/kept-sums.ts";
import type { PodSpec } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { keptAmounts, type PodAmounts } from "./pod-amounts.ts";

/** What an idle pod costs that says nothing of itself. */
const leastOfPod: PodAmounts = { cpuMilli: 10, memoryBytes: 32 * 2 ** 20, diskBytes: 16 * 2 ** 20 };

export interface MachineUseDeps {
  /** What a pool's pods are made from; undefined: not known. */
  readonly specOf: (pool: SandboxPool) => PodSpec | undefined;
  readonly limitDivisor: number;
}

export class MachineUse {
  readonly #deps: MachineUseDeps;
  readonly #sums = new KeptSums<keyof PodAmounts>();

  constructor(deps: MachineUseDeps) {
    this.#deps = deps;
  }

  /** Every change of a pool, and of the template that it is made from. */
  observe(now: SandboxPool | undefined, before: SandboxPool | undefined): void {
    const pool = now ?? before;
    if (pool !== undefined) this.#sums.put(textOf(pool), now && this.#takenBy(now));
  }

  ofOthers(pool: SandboxPool): PodAmounts {
    const sum = (resource: keyof PodAmounts): number => this.#sums.ofOthers(textOf(pool), resource);
    return { cpuMilli: sum("cpuMilli"), memoryBytes: sum("memoryBytes"), diskBytes: sum("diskBytes") };
  }

  /** What one pod of the pool counts. */
  ofPod(pool: SandboxPool): PodAmounts {
    const amounts = keptAmounts(this.#deps.specOf(pool), this.#deps.limitDivisor);
    const larger = (resource: keyof PodAmounts): number => Math.max(amounts[resource], leastOfPod[resource]);
    return { cpuMilli: larger("cpuMilli"), memoryBytes: larger("memoryBytes"), diskBytes: larger("diskBytes") };
  }

  #takenBy(pool: SandboxPool): PodAmounts {
    const pods = heldPods(pool);
    const { cpuMilli, memoryBytes, diskBytes } = this.ofPod(pool);
    return { cpuMilli: pods * cpuMilli, memoryBytes: pods * memoryBytes, diskBytes: pods * diskBytes };
  }
}

/** Pods for waiting requests are there before the number of wanted ones follows. */
export function heldPods({ spec, status }: SandboxPool): number {
  return Math.max(spec.replicas, status?.replicas ?? 0);
}

function textOf({ metadata: { namespace = "", name = "" } }: SandboxPool): string {
  return `${namespace}/${name}`;
}
