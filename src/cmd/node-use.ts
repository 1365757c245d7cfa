/** What sandboxes use by the word of the node in this process: the kernel counts for it, and no sandbox is asked. */
import { statfsSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import type { PodRuntime } from "#engines/embedded/node/pod-runtime.ts";
import type { ReadPodUse } from "#services/usage/pod-use.ts";

export function nodeUse(runtime: Pick<PodRuntime, "usage">, home: string): ReadPodUse {
  const { blocks, bsize } = statfsSync(home);
  const machine = { cpus: availableParallelism(), memoryBytes: totalmem(), diskBytes: blocks * bsize };
  return async (pod) => {
    const { cpuNanos, memoryBytes, cacheBytes, diskBytes } = await runtime.usage(pod.metadata.uid ?? "");
    return { cpuMs: cpuNanos / 1e6, memoryBytes, cacheBytes, diskBytes, machine };
  };
}
