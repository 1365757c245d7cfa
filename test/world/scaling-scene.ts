/** An Env with member pools on the embedded store, with the autoscaler; the Env controller's part is played here: it copies replicas. */
import { Registry } from "prom-client";
import type { ClaimPressure } from "#life/claim/claim-pressure.ts";
import { PoolRefusals } from "#controllers/pool/status/pool-refusals.ts";
import { startScalingController } from "#controllers/scaling/reconcile-scaling.ts";
import type { ScalingDeps } from "#controllers/scaling/scaling-deps.ts";
import { formatKey, type Key } from "#kube/controller/key.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import type { WaitingSet } from "#model/claim-demand.ts";
import type { EnvAutoscalingGroup } from "#model/env-autoscaling.ts";
import type { EnvClusterMemberConfig } from "#model/env-member.ts";
import { labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { type EmbeddedPoolScene, embeddedPoolScene } from "./embedded-pool-scene.ts";

/** Requests that wait, as a test says. */
export class ToldPressure implements ClaimPressure {
  #sets: readonly WaitingSet[] = [];
  readonly #handlers = new Set<(pool: Key) => void>();

  /** So many requests wait for a pod of any of these pools of the namespace ns; nothing else waits. */
  waits(count: number, ...pools: readonly string[]): void {
    const keys = pools.map((name) => `ns/${name}`).sort();
    this.#sets = count === 0 ? [] : [{ pools: keys, count }];
    for (const handler of this.#handlers) for (const name of pools) handler({ namespace: "ns", name });
  }

  /** So many requests wait for a pod of each of these pools alone. */
  waitsEach(counts: readonly (readonly [count: number, pool: string])[]): void {
    this.#sets = counts.map(([count, name]) => ({ pools: [`ns/${name}`], count }));
    for (const handler of this.#handlers) for (const [, name] of counts) handler({ namespace: "ns", name });
  }

  inFlight(): number {
    return 0;
  }

  waiting(pool: Key): number {
    return this.setsAt(pool).reduce((sum, { count }) => sum + count, 0);
  }

  setsAt(pool: Key): readonly WaitingSet[] {
    return this.#sets.filter(({ pools }) => pools.includes(formatKey(pool)));
  }

  onWaiting(handler: (pool: Key) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }
}

const template = { spec: { containers: [{ name: "main", image: "registry.invalid/app:1" }] } };

export interface ScalingSceneMember {
  readonly name: string;
  readonly replicas: number;
  readonly config?: EnvClusterMemberConfig;
}

export interface ScalingScene extends AsyncDisposable {
  readonly world: EmbeddedPoolScene;
  /** What waits, unless the scene was given something else that says it. */
  readonly pressure: ToldPressure;
  createEnv(members: readonly ScalingSceneMember[], group: Partial<EnvAutoscalingGroup>): Promise<void>;
  env(): Promise<SandboxEnv>;
  /** Of each member, as the Env says. */
  replicas(): Promise<Record<string, number>>;
  metric(name: string): Promise<string>;
}

export async function scalingScene(deps: Partial<ScalingDeps> = {}): Promise<ScalingScene> {
  const pressure = new ToldPressure();
  const { plugins, clusterID = "local" } = deps;
  const clockOf = {
    now: (): number => world.clock.now(),
    monotonic: (): number => world.clock.monotonic(),
    after: (ms: number, run: () => void) => world.clock.after(ms, run),
  };
  const refusals = new PoolRefusals(clockOf);
  const ofPods = plugins && { preCreatePod: async (object: Pod) => ({ object }), ...plugins };
  const world = await embeddedPoolScene({ pressure: deps.pressure ?? pressure, refusals, plugins: ofPods, clusterID });
  const { scene, clock } = world;
  const registry = new Registry();
  const scaling = startScalingController({
    client: scene.watched.client,
    cache: scene.cache,
    clock,
    log: scene.logged.log,
    metrics: prometheusMetrics(registry),
    events: scene.events,
    random: () => 0.5,
    pressure,
    refusals,
    ...deps,
    clusterID,
  });
  const copying = scene.cache.envs.onChange((env) => {
    for (const { name, spec } of env?.spec.clusters?.flatMap(({ members = [] }) => members) ?? []) {
      if (spec !== undefined && scene.cache.pools.objects.get(scene.key(name))?.spec.replicas !== spec.replicas) {
        void scene.scale(spec.replicas, name).catch(() => {});
      }
    }
  });
  const env = (): Promise<SandboxEnv> => scene.client.get(SandboxEnvs, scene.key("web"));
  return {
    world,
    pressure,
    env,
    createEnv: async (members, group) => {
      for (const { name, replicas } of members) {
        const metadata = { ...scene.key(name), labels: { [labelKeys.env]: "web" } };
        await scene.client.create(SandboxPools, { metadata, spec: { replicas, template } });
      }
      const entries = members.map(({ name, replicas, config = {} }) => ({
        name,
        spec: { replicas, template },
        config: { scalingGroup: "default", ...config },
      }));
      await scene.client.create(SandboxEnvs, {
        metadata: scene.key("web"),
        spec: {
          templateRef: { name: "t" },
          mode: "WarmPool",
          clusters: [{ clusterID, members: entries }],
          autoscaling: { groups: [{ name: "default", enabled: true, ...group }] },
        },
      });
      await world.filled();
    },
    replicas: async () => {
      const members = (await env()).spec.clusters?.flatMap((cluster) => cluster.members ?? []) ?? [];
      return Object.fromEntries(members.map(({ name, spec }) => [name, spec?.replicas ?? -1]));
    },
    metric: (name) => registry.getSingleMetricAsString(name),
    [Symbol.asyncDispose]: async () => {
      copying.remove();
      await scaling.stop();
      await world[Symbol.asyncDispose]();
    },
  };
}
