/** What is counted of the lives of sandboxes. */
import type { Clock } from "#lib/clock.ts";
import type { Metrics } from "#lib/metrics.ts";
import { poolOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { parseTime } from "#sandbox/annotation-values.ts";
import type { PodObserver } from "./pod-deps.ts";

/** Sandboxes live from seconds to days. */
const lifeBuckets = [1, 5, 15, 30, 60, 300, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400, 604_800];

export function podMetrics({ metrics, clock }: { readonly metrics: Metrics; readonly clock: Clock }): PodObserver {
  const labels = ["namespace", "pool"] as const;
  const starting = metrics.histogram({
    name: "agentbox_sandbox_starting_duration_seconds",
    help: "From claim to running, where containers were exchanged.",
    labels,
  });
  const running = metrics.histogram({
    name: "agentbox_sandbox_running_duration_seconds",
    help: "From running to the end, of sandboxes that ran.",
    labels,
    buckets: lifeBuckets,
  });
  const recycle = metrics.histogram({
    name: "agentbox_sandbox_recycle_duration_seconds",
    help: "From the end of a sandbox to its pod being idle again.",
    labels,
  });
  const deletes = metrics.counter({
    name: "agentbox_sandbox_delete_total",
    help: "Sandboxes that ended, by why they were stopped.",
    labels: ["namespace", "pool", "reason"],
  });
  const updates = metrics.counter({
    name: "agentbox_inplace_update_total",
    help: "Exchanges of containers that are over: starting for a sandbox, stopping after one; completed, or failed by taking too long.",
    labels: ["namespace", "pool", "exchange", "result"],
  });
  return {
    started: (pod) => {
      const { annotations = {} } = pod.metadata;
      const seconds = secondsBetween(annotations[annotationKeys.claimedAt], annotations[annotationKeys.startedAt]);
      if (seconds !== undefined) starting.observe(poolLabels(pod), seconds);
    },
    exchanged: (pod, end) => updates.add({ ...poolLabels(pod), ...end }),
    recycled: (pod) => {
      const ended = parseTime(pod.metadata.annotations?.[annotationKeys.terminatedAt]);
      if (ended !== undefined) recycle.observe(poolLabels(pod), Math.max(0, clock.now() - ended) / 1000);
    },
    ended: ({ namespace, poolName, status, startedAt, terminatedAt }) => {
      deletes.add({ namespace, pool: poolName, reason: status });
      const seconds = secondsBetween(startedAt, terminatedAt);
      if (seconds !== undefined) running.observe({ namespace, pool: poolName }, seconds);
    },
  };
}

function poolLabels(pod: Pod): { readonly namespace: string; readonly pool: string } {
  return { namespace: pod.metadata.namespace ?? "", pool: poolOf(pod) ?? "" };
}

/** Never negative: the two may have been written by machines whose clocks differ. */
function secondsBetween(from: string | undefined, to: string | undefined): number | undefined {
  const start = parseTime(from);
  const end = parseTime(to);
  return start === undefined || end === undefined ? undefined : Math.max(0, end - start) / 1000;
}
