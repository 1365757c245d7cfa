/** Sizes of pools for Prometheus. Computed when the metrics are read, so that a claim costs nothing here. */
import { formatKey, type Key } from "#kube/controller/key.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { Gauge, Labels, Metrics } from "#lib/metrics.ts";
import { labelKeys } from "#model/keys.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { countPods, type PoolCounts } from "./pool-counts.ts";

const labelNames = ["namespace", "pool", "sandbox_env", "team", "user"] as const;
type PoolLabel = (typeof labelNames)[number];

const counted = ["idle", "running", "starting", "stopping", "failed"] as const satisfies readonly (keyof PoolCounts)[];

interface Followed {
  readonly labels: Labels<PoolLabel>;
  readonly stop: () => void;
}

export class PoolNumbers {
  readonly #cache: Pick<SandboxCache, "pods" | "pools">;
  readonly #desired: Gauge<PoolLabel>;
  readonly #counts: readonly (readonly [keyof PoolCounts, Gauge<PoolLabel>])[];
  readonly #followed = new Map<string, Followed>();

  constructor({ cache, metrics }: { readonly cache: Pick<SandboxCache, "pods" | "pools">; readonly metrics: Metrics }) {
    const gauge = (what: string, help: string): Gauge<PoolLabel> =>
      metrics.gauge({ name: `agentbox_sandboxpool_replicas_${what}`, help, labels: labelNames });
    this.#cache = cache;
    this.#desired = gauge("desired", "Pods that a pool is to have.");
    this.#counts = counted.map((phase) => [phase, gauge(phase, `Pods of a pool that are ${phase}.`)] as const);
  }

  follow(key: Key, pool: SandboxPool): void {
    const labels = labelsOf(pool);
    const before = this.#followed.get(formatKey(key));
    if (before !== undefined && labelNames.every((name) => before.labels[name] === labels[name])) return;
    before?.stop();
    const { pools } = this.#cache;
    const stops = [
      this.#desired.follow(labels, () => pools.objects.get(key)?.spec.replicas ?? 0),
      ...this.#counts.map(([phase, gauge]) => gauge.follow(labels, () => countPods(this.#cache, key)[phase])),
    ];
    this.#followed.set(formatKey(key), { labels, stop: () => stops.forEach((stop) => stop()) });
  }

  forget(key: Key): void {
    this.#followed.get(formatKey(key))?.stop();
    this.#followed.delete(formatKey(key));
  }

  /** Tells of no pool any more. */
  stop(): void {
    for (const { stop } of this.#followed.values()) stop();
    this.#followed.clear();
  }
}

function labelsOf({ metadata: { namespace = "", name = "", labels = {} } }: SandboxPool): Labels<PoolLabel> {
  return {
    namespace,
    pool: name,
    sandbox_env: labels[labelKeys.env] ?? "",
    team: labels[labelKeys.team] ?? "",
    user: labels[labelKeys.user] ?? "",
  };
}
