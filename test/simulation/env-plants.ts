/** Mistakes of the sizing of Envs, put in by way of what the controllers are given (docs/simulation.md). */
import type { ObjectClient, Patch, WatchEvent } from "#kube/object-client.ts";
import type { ApiObject, JsonObject } from "#model/meta.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import type { ResourceType } from "#model/resource.ts";
import { SandboxEnvs, type SandboxEnv } from "#model/sandbox-env.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import type { Reach } from "./control-plane.ts";
import type { Plant } from "./world.ts";

export interface PlantedBug {
  readonly name: string;
  readonly plant: Plant;
  /** Which of the invariants it may break. */
  readonly breaks: readonly string[];
  /** In so many runs it is found. */
  readonly within: number;
  /** It is about Envs: other runs cannot show it. */
  readonly needsEnv?: boolean;
}

const bugs: readonly PlantedBug[] = [
  {
    name: "waiting-requests-unseen",
    within: 60,
    breaks: ["E3"],
    plant: (reach) => ({ ...reach, pressure: { inFlight: () => 0, waiting: () => 0, setsAt: () => [], onWaiting: () => () => {} } }),
  },
  {
    name: "refusals-of-plugins-ignored",
    within: 60,
    breaks: ["E1"],
    plant: (reach) => ({ ...reach, plugin: { name: "admits everything" } }),
  },
  {
    name: "maxima-unseen",
    within: 60,
    breaks: ["E1", "I6"],
    plant: seeing(SandboxEnvs, (env) => withBounds(env, { maxReplicas: 100 })),
  },
  {
    name: "minima-unseen",
    within: 60,
    breaks: ["E1", "E2"],
    plant: seeing(SandboxEnvs, (env) => withBounds(env, { minReplicas: 0 })),
  },
  {
    name: "quotas-unseen",
    within: 60,
    breaks: ["E5"],
    plant: seeing(ConfigMaps, (limits) => ({ ...limits, data: {} })),
  },
  {
    name: "cool-downs-forgotten",
    within: 100,
    breaks: ["E2", "I6"],
    plant: (reach) => ({
      ...reach,
      client: {
        ...reach.client,
        patch: (type, key, patch, options) =>
          reach.client.patch(type, key, type.kind === SandboxPools.kind ? withoutGrowth(patch) : patch, options),
      },
    }),
  },
  {
    name: "whole-env-written-late",
    within: 60,
    breaks: ["E1", "E2", "E4"],
    plant: (reach) => ({ ...reach, client: { ...reach.client, patch: lateEnvPatch(reach) } }),
  },
];

export const envPlants: readonly PlantedBug[] = bugs.map((bug) => ({ ...bug, needsEnv: true }));

type Bounds = Readonly<Record<string, number>>;

function withBounds(env: SandboxEnv, bounds: Bounds): SandboxEnv {
  const clusters = (env.spec.clusters ?? []).map((cluster) => ({
    ...cluster,
    members: (cluster.members ?? []).map((member) => ({ ...member, config: { ...member.config, ...bounds } })),
  }));
  const groups = (env.spec.autoscaling?.groups ?? []).map((group) => ({ ...group, ...bounds }));
  return { ...env, spec: { ...env.spec, clusters, autoscaling: { groups } } };
}

/** Controllers that see objects of a kind otherwise than they are. */
function seeing<K extends ApiObject>({ kind }: ResourceType<K>, change: (object: K) => K): Plant {
  const seen = <T extends ApiObject>(object: T): T => (object.kind === kind ? (change(object as unknown as K) as unknown as T) : object); // By its kind it is one.
  return (reach) => ({
    ...reach,
    client: {
      ...reach.client,
      list: async (type, options) => {
        const list = await reach.client.list(type, options);
        return { ...list, items: list.items.map(seen) };
      },
      watch: (type, options) => ({ [Symbol.asyncIterator]: () => changed(reach.client.watch(type, options), seen) }),
    },
  });
}

async function* changed<T extends ApiObject>(
  events: AsyncIterable<WatchEvent<T>>,
  seen: (object: T) => T,
): AsyncGenerator<WatchEvent<T>, void> {
  for await (const event of events) yield event.type === "BOOKMARK" ? event : { ...event, object: seen(event.object) };
}

/** The status does not remember when the pool last grew. */
function withoutGrowth(patch: Patch): Patch {
  if (patch.type !== "merge") return patch;
  const { status } = patch.body as { readonly status?: { readonly autoscaling?: JsonObject } };
  if (status?.autoscaling === undefined) return patch;
  const { lastScaleUpTime: _, ...autoscaling } = status.autoscaling;
  return { ...patch, body: { ...patch.body, status: { ...status, autoscaling } } };
}

const lateMs = 3_000;

/** Numbers of members are written with all that stood on the Env when they were decided, a while later and whatever happened meanwhile. */
function lateEnvPatch({ client, clock }: Reach): ObjectClient["patch"] {
  return async (type, key, patch, options) => {
    const isNumbers = type.kind === SandboxEnvs.kind && options?.subresource === undefined && patch.type === "json";
    if (!isNumbers) return client.patch(type, key, patch, options);
    const written = await client.patch(type, key, patch, options);
    const { spec } = written as unknown as SandboxEnv; // By its kind it is an Env.
    clock.after(lateMs, () => void client.patch(type, key, { type: "merge", body: { spec } as unknown as JsonObject }).catch(() => {}));
    return written;
  };
}
