/** The sizes of scaling groups and why they are so, for Prometheus. */
import type { GroupPlan, GroupSnapshot } from "#autoscaling/group.ts";
import { formatKey, type Key } from "#kube/controller/key.ts";
import type { Counter, Gauge, Labels, Metrics } from "#lib/metrics.ts";

const labelNames = ["namespace", "sandbox_env", "group"] as const;
type GroupLabel = (typeof labelNames)[number];

interface Sizes {
  readonly wanted: number;
  readonly ready: number;
  readonly waiting: number;
  readonly spare: number;
  readonly refill_seconds: number;
}

interface Followed {
  sizes: Sizes;
  readonly stop: () => void;
}

const about: Readonly<Record<keyof Sizes, string>> = {
  wanted: "Pods that a scaling group is to have.",
  ready: "Idle pods of a scaling group that can be claimed.",
  waiting: "Requests that wait for a pod of a scaling group.",
  spare: "Pods that mode Demand keeps for requests to come.",
  refill_seconds: "From the decision to make a pod of a scaling group until it can be claimed.",
};

export class ScalingNumbers {
  readonly #gauges: readonly (readonly [keyof Sizes, Gauge<GroupLabel>])[];
  readonly #decisions: Counter<"reason">;
  readonly #followed = new Map<string, Followed>();

  constructor(metrics: Metrics) {
    const gauge = (name: string, help: string): Gauge<GroupLabel> =>
      metrics.gauge({ name: `agentbox_autoscaler_${name}`, help, labels: labelNames });
    this.#gauges = (["wanted", "ready", "waiting", "spare", "refill_seconds"] as const).map(
      (size) => [size, gauge(size, about[size])] as const,
    );
    this.#decisions = metrics.counter({
      name: "agentbox_autoscaler_decisions_total",
      help: "Decisions about scaling groups, by why they are as they are.",
      labels: ["reason"],
    });
  }

  decided(env: Key, snapshot: GroupSnapshot, plan: GroupPlan): void {
    this.#decisions.add({ reason: plan.reason });
    const sizes = {
      wanted: plan.members.reduce((sum, { replicas }) => sum + replicas, 0),
      ready: snapshot.members.reduce((sum, { idle }) => sum + idle, 0),
      waiting: snapshot.waiting,
      spare: plan.spare,
      refill_seconds: snapshot.arrivals.refillMs / 1000,
    };
    const labels = { namespace: env.namespace ?? "", sandbox_env: env.name, group: snapshot.group.name };
    this.#of(env, labels, sizes).sizes = sizes;
  }

  forget(env: Key, group: string): void {
    const key = `${formatKey(env)}/${group}`;
    this.#followed.get(key)?.stop();
    this.#followed.delete(key);
  }

  stop(): void {
    for (const { stop } of this.#followed.values()) stop();
    this.#followed.clear();
  }

  #of(env: Key, labels: Labels<GroupLabel>, sizes: Sizes): Followed {
    const key = `${formatKey(env)}/${labels.group}`;
    const there = this.#followed.get(key);
    if (there !== undefined) return there;
    const followed: Followed = { sizes, stop: () => stops.forEach((stop) => stop()) };
    const stops = this.#gauges.map(([size, gauge]) => gauge.follow(labels, () => followed.sizes[size]));
    this.#followed.set(key, followed);
    return followed;
  }
}
