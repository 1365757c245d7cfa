/** A pool of the benchmark: filled before something is measured, and full again after. */
import { setTimeout as sleep } from "node:timers/promises";
import { podCondition, poolOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { quietMachine } from "../lib/quiet-machine.ts";
import type { PoolWish, SystemWorld } from "../../test/cluster/system-world.ts";

const patienceMs = 15 * 60_000;

export class BenchPool {
  readonly name: string;
  readonly replicas: number;
  readonly #world: SystemWorld;

  private constructor(world: SystemWorld, name: string, replicas: number) {
    this.#world = world;
    this.name = name;
    this.replicas = replicas;
  }

  static async filled(world: SystemWorld, name: string, wish: PoolWish): Promise<BenchPool> {
    const resources = { requests: { cpu: "5m", memory: "16Mi" }, limits: { memory: "512Mi" } };
    const container = { resources, ...wish.container };
    await world.pool(name, { ...wish, container });
    const pool = new BenchPool(world, name, wish.replicas);
    await pool.full();
    return pool;
  }

  async pods(): Promise<readonly Pod[]> {
    return (await this.#world.pods()).filter((pod) => poolOf(pod) === this.name && pod.metadata.deletionTimestamp === undefined);
  }

  /** All of its pods, once so many of them wait for a sandbox: as many as it was made with, unless told otherwise. */
  async full(replicas = this.replicas): Promise<readonly Pod[]> {
    const until = performance.now() + patienceMs;
    for (;;) {
      const pods = await this.pods();
      const idle = pods.filter(isIdle);
      if (idle.length >= replicas) {
        // What daemons do five seconds after their start, and what nodes tell late, is not what is measured.
        await quietMachine({ seconds: 8 });
        return pods;
      }
      if (performance.now() > until) throw new Error(`${idle.length} of ${replicas} pods of ${this.name} are idle, after all this time`);
      await sleep(100);
    }
  }
}

function isIdle(pod: Pod): boolean {
  return sandboxPhaseOf(pod) === "idle" && podCondition(pod, "Ready")?.status === "True";
}

export function usesOf(pod: Pod): number {
  return Number(pod.metadata.annotations?.[annotationKeys.useCount] ?? 0);
}
