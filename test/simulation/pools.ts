/** The pools of a run, each of another sort. */
import type { PodTemplate } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { SeededRandom } from "./random.ts";
import { digestOf } from "../world/pool-pods.ts";

export const namespace = "ns";

/** The wanted state of a pool. */
export interface PoolGoal {
  readonly replicas: number;
  /** Of the template. */
  readonly version: number;
}

/** On every pod: the version of the template that it was made from. */
export const versionKey = "app.invalid/version";

/** Of the template: a change of it makes idle pods outdated. */
export function poolTemplate(sort: string, version: number): PodTemplate {
  const volume = { volumes: [{ name: "scratch", emptyDir: {} }] };
  const mounts = { volumeMounts: [{ name: "scratch", mountPath: "/scratch" }] };
  const main = { name: "main", image: "registry.invalid/run:1", ...(sort === "used-once" ? mounts : {}) };
  return {
    metadata: { annotations: { [versionKey]: String(version) } },
    spec: { containers: [main], ...(sort === "used-once" ? volume : {}) },
  };
}

/** `warm`: waits on what it runs. `swapped`: waits on an idle image. `used-once`: cannot be cleaned, and is replaced. */
export const poolSorts = ["warm", "swapped", "used-once"] as const;

export function aSimulatedPool(sort: (typeof poolSorts)[number], random: SeededRandom): SandboxPool {
  const idle =
    sort === "swapped"
      ? { podCreationImagePolicy: "IdleImage" as const, idleImage: "registry.invalid/idle:1" }
      : { podCreationImagePolicy: "PoolDefaultImage" as const };
  return {
    metadata: { namespace, name: sort },
    spec: { replicas: random.between(1, 4), defaultStartupTimeout: "60s", template: poolTemplate(sort, 1), ...idle },
  };
}

/** A registry that gives every caller the same answers. */
export const digests = { resolve: async (image: string) => ({ digest: digestOf(image) }) };
export const commands = { commandOf: async () => ({ entrypoint: [], cmd: [] }) };
