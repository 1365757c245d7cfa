/**
 * An AgentBox plugin as a module. Pools with the label `tier: batch` get pods on cheap nodes, and no more of them than the
 * configuration says:
 *
 *     plugins:
 *       - name: batch-nodes
 *         module: ./batch-nodes.ts
 *         args: { nodeSelector: { tier: spot }, maxReplicas: 20 }
 *
 * It needs nothing of AgentBox: hooks get plain objects and answer with plain objects. The types below are the parts that it uses.
 */
interface Pool {
  metadata: { name: string; labels?: Record<string, string> };
  spec: { replicas: number };
}

interface Pod {
  metadata: { annotations?: Record<string, string> };
  spec: { nodeSelector?: Record<string, string>; tolerations?: object[] };
}

interface Args {
  nodeSelector: Record<string, string>;
  maxReplicas: number;
}

/** The default export is a plugin, or as here a function that makes one of its args. What it throws keeps the server from starting. */
export default function batchNodes(args: Args) {
  if (typeof args?.maxReplicas !== "number" || typeof args.nodeSelector !== "object") {
    throw new Error("args must be { nodeSelector: { label: value }, maxReplicas: number }");
  }
  return {
    name: "batch-nodes",

    /** Asked before a pool grows, also for sizes that are never used: it must not do anything. */
    async preUpdatePool(pool: Pool) {
      if (!isBatch(pool) || pool.spec.replicas <= args.maxReplicas) return { object: pool };
      const message = `batch pools may have ${args.maxReplicas} pods`;
      return { refusal: { kind: "InsufficientResources", message, wouldFit: args.maxReplicas, retryAfterMs: 60_000 } };
    },

    /** Asked once for each new pod. */
    async preCreatePod(pod: Pod, pool: Pool) {
      if (!isBatch(pool)) return { object: pod };
      const toleration = { key: "tier", operator: "Equal", value: "spot", effect: "NoSchedule" };
      return {
        object: {
          ...pod,
          spec: {
            ...pod.spec,
            nodeSelector: { ...pod.spec.nodeSelector, ...args.nodeSelector },
            tolerations: [...(pod.spec.tolerations ?? []), toleration],
          },
        },
      };
    },
  };
}

function isBatch(pool: Pool): boolean {
  return pool.metadata.labels?.["tier"] === "batch";
}
