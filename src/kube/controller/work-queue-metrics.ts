import type { Metrics } from "#lib/metrics.ts";

/** What a work queue reports about itself; the gauges are read when metrics are collected. */
export interface QueueState {
  readonly depth: () => number;
  readonly longestRunningMs: () => number;
  readonly unfinishedMs: () => number;
}

export interface QueueMetrics {
  added(): void;
  retried(): void;
  started(waitedMs: number): void;
  finished(ranMs: number): void;
  stop(): void;
}

export function queueMetrics(metrics: Metrics, queue: string, state: QueueState): QueueMetrics {
  const labels = ["queue"] as const;
  const own = { queue };
  const gauge = (name: string, help: string, read: () => number): (() => void) => metrics.gauge({ name, help, labels }).follow(own, read);
  const adds = metrics.counter({
    name: "agentbox_workqueue_adds_total",
    help: "Keys put into the queue; one that already waits is not counted.",
    labels,
  });
  const retries = metrics.counter({ name: "agentbox_workqueue_retries_total", help: "Runs that failed and were scheduled again.", labels });
  const waits = metrics.histogram({ name: "agentbox_workqueue_wait_seconds", help: "Time from being added to being run.", labels });
  const runs = metrics.histogram({ name: "agentbox_workqueue_run_seconds", help: "Time that a run took.", labels });
  const unfollow = [
    gauge("agentbox_workqueue_depth", "Keys that wait to be run.", state.depth),
    gauge("agentbox_workqueue_longest_running_seconds", "Age of the oldest run that has not ended.", () => state.longestRunningMs() / 1000),
    gauge(
      "agentbox_workqueue_unfinished_work_seconds",
      "Ages of all runs that have not ended, added up.",
      () => state.unfinishedMs() / 1000,
    ),
  ];
  return {
    added: () => adds.add(own),
    retried: () => retries.add(own),
    started: (waitedMs) => waits.observe(own, waitedMs / 1000),
    finished: (ranMs) => runs.observe(own, ranMs / 1000),
    stop: () => {
      for (const stopFollowing of unfollow) stopFollowing();
    },
  };
}
