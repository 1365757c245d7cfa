/** What is counted of creates. Names are those that dashboards of the original know. */
import type { Metrics } from "#lib/metrics.ts";
import type { ClaimPath, ClaimWrite } from "#life/claim/claim-pod.ts";
import type { ClaimQueue } from "#scheduling/claim-queue.ts";
import { poolKey, type PoolRef } from "#scheduling/pool-ref.ts";

export interface ClaimMetrics {
  /** From the request until the sandbox was armed, or until the claim if the request waits for no more. */
  created(pool: PoolRef, path: ClaimPath, ms: number): void;
  failed(pool: PoolRef, path: ClaimPath | "none", code: string): void;
  waited(pool: PoolRef, ms: number): void;
  /** The request found no idle pod. `env`: the Env of the pools; empty for a pool without one. */
  missed(pool: PoolRef, env: string, ms: number): void;
  wrote(pool: PoolRef, outcome: ClaimWrite): void;
  /** Shows how a pool stands until it is gone. */
  follow(pool: PoolRef): void;
  unfollow(pool: PoolRef): void;
}

const byPool = ["namespace", "pool"] as const;

export function claimMetrics({ metrics, queue }: { readonly metrics: Metrics; readonly queue: ClaimQueue }): ClaimMetrics {
  const duration = metrics.histogram({
    name: "agentbox_sandbox_claim_duration_seconds",
    help: "Time from a create request until its sandbox was armed, or until the claim if the request waited for no more.",
    labels: [...byPool, "path"],
  });
  const creates = metrics.counter({
    name: "agentbox_sandbox_create_total",
    help: "Requests for a sandbox: created, or the code of their error; by whether the pod waited on the wanted image (fast) or not (slow).",
    labels: [...byPool, "result", "path"],
  });
  const wait = metrics.histogram({
    name: "agentbox_schedule_dispatch_latency_seconds",
    help: "How long a request waited for an idle pod.",
    labels: byPool,
  });
  const writes = metrics.counter({
    name: "agentbox_schedule_cas_outcome_total",
    help: "Conditional writes that claim a pod, by how they came out.",
    labels: [...byPool, "outcome"],
  });
  const misses = missMetrics(metrics);
  const gauges = poolGauges(metrics, queue);
  return {
    created: (pool, path, ms) => {
      duration.observe({ ...labelsOf(pool), path }, ms / 1000);
      creates.add({ ...labelsOf(pool), path, result: "created" });
    },
    failed: (pool, path, code) => creates.add({ ...labelsOf(pool), path, result: code }),
    waited: (pool, ms) => wait.observe(labelsOf(pool), ms / 1000),
    wrote: (pool, outcome) => writes.add({ ...labelsOf(pool), outcome }),
    ...misses,
    ...gauges,
  };
}

/** A request that got no pod counts at the pool that it would have asked first, with the time after which it gave up. */
function missMetrics(metrics: Metrics): Pick<ClaimMetrics, "missed"> {
  const labels = [...byPool, "sandbox_env"] as const;
  const misses = metrics.counter({ name: "agentbox_create_misses_total", help: "Requests for a sandbox that found no idle pod.", labels });
  const cost = metrics.histogram({
    name: "agentbox_create_miss_wait_seconds",
    help: "How long requests that found no idle pod waited for one, or until they gave up.",
    labels,
  });
  return {
    missed: (pool, env, ms) => {
      const of = { ...labelsOf(pool), sandbox_env: env };
      misses.add(of);
      cost.observe(of, ms / 1000);
    },
  };
}

function poolGauges(metrics: Metrics, queue: ClaimQueue): Pick<ClaimMetrics, "follow" | "unfollow"> {
  const ready = metrics.gauge({
    name: "agentbox_schedule_ready_queue_size",
    help: "Idle pods that could be claimed now.",
    labels: byPool,
  });
  const reserved = metrics.gauge({ name: "agentbox_schedule_reservations_size", help: "Pods that are being claimed.", labels: byPool });
  const waiting = metrics.gauge({
    name: "agentbox_schedule_waiting_requests",
    help: "Requests that wait for an idle pod.",
    labels: byPool,
  });
  const followed = new Map<string, () => void>();
  return {
    follow: (pool) => {
      if (followed.has(poolKey(pool))) return;
      const ends = [
        ready.follow(labelsOf(pool), () => queue.free(pool)),
        reserved.follow(labelsOf(pool), () => queue.reserved(pool)),
        waiting.follow(labelsOf(pool), () => queue.waiting(pool)),
      ];
      followed.set(poolKey(pool), () => ends.forEach((end) => end()));
    },
    unfollow: (pool) => {
      followed.get(poolKey(pool))?.();
      followed.delete(poolKey(pool));
    },
  };
}

function labelsOf({ namespace, name }: PoolRef): { readonly namespace: string; readonly pool: string } {
  return { namespace, pool: name };
}
