import type { Metrics } from "#lib/metrics.ts";

/** What a node tells of itself in numbers. */
export interface NodeMetrics {
  containerStart(result: "started" | "create_failed" | "start_failed"): void;
  /** From the first sight of a pod to its first readiness. */
  podReady(afterMs: number): void;
  stop(): void;
}

/** `pods` is called each time the metrics are collected. */
export function nodeMetrics(metrics: Metrics, pods: () => number): NodeMetrics {
  const starts = metrics.counter({
    name: "agentbox_node_container_starts_total",
    help: "Containers that the node tried to start, by how it went.",
    labels: ["result"],
  });
  const ready = metrics.histogram({
    name: "agentbox_node_pod_ready_seconds",
    help: "Time from the node's first sight of a pod to its first readiness, image pulls included.",
    labels: [],
  });
  const gauge = metrics.gauge({ name: "agentbox_node_pods", help: "Pods that the node looks after.", labels: [] });
  const stop = gauge.follow({}, pods);
  return {
    containerStart: (result) => starts.add({ result }),
    podReady: (afterMs) => ready.observe({}, afterMs / 1000),
    stop,
  };
}
