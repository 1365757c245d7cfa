/** Port to the usage of a pod: from the node that runs it, or from the daemon inside it. */
import type { Pod } from "#model/pod.ts";

export interface PodUse {
  /** Processor time of all cores together, counted from some moment in the pod's life. */
  readonly cpuMs: number;
  /** Without cache that the kernel can free on demand. */
  readonly memoryBytes: number;
  readonly cacheBytes: number;
  readonly diskBytes: number;
  /** Processes that were killed because memory was full, since the sandbox's containers started; unknown when left out. */
  readonly oomKills?: number;
  /** What the machine has: the bound for a pod without limits. */
  readonly machine: Capacity;
}

export interface Capacity {
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

/** Cheap, and does not count as use of the sandbox, so its timeouts go on. Called only for pods that run and are not frozen. */
export type ReadPodUse = (pod: Pod) => Promise<PodUse>;
