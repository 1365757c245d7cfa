/** Port to the usage of a pod: from the node that runs it, or from the daemon inside it. */
import type { Pod } from "#model/pod.ts";

export interface PodUse {
  /** Of all processors together, since some moment in the pod's life. */
  readonly cpuMs: number;
  /** Without cache that is given up on demand. */
  readonly memoryBytes: number;
  readonly cacheBytes: number;
  readonly diskBytes: number;
  /** Processes that were killed for want of memory, since the sandbox's containers began; unknown when left out. */
  readonly oomKills?: number;
  /** What it could use of its machine if nothing limited it. */
  readonly machine: Capacity;
}

export interface Capacity {
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

/** Cheap, and never a use of the sandbox: no clock of it begins anew. Only asked about pods that run and are not frozen. */
export type ReadPodUse = (pod: Pod) => Promise<PodUse>;
