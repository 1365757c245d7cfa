/** The sizes of pools over the last hour, in memory, for charts. */
import { type Clock, type Timer } from "#lib/clock.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";

export interface PoolSize {
  /** ISO 8601. */
  readonly at: string;
  readonly wanted: number;
  readonly idle: number;
  readonly inUse: number;
  /** Requests that wait. */
  readonly waiting: number;
  /** The latest decision of its autoscaler, where it is new. */
  readonly decision?: string;
}

export interface SizeLogDeps {
  readonly cache: Pick<SandboxCache, "listPools">;
  readonly clock: Clock;
}

const everyMs = 10_000;
const mostSizes = 360;

export class SizeLog implements Disposable {
  readonly #deps: SizeLogDeps;
  readonly #sizes = new Map<string, PoolSize[]>();
  readonly #decisions = new Map<string, string>();
  #timer: Timer;

  constructor(deps: SizeLogDeps) {
    this.#deps = deps;
    this.#timer = deps.clock.after(everyMs, () => this.#look());
  }

  [Symbol.dispose](): void {
    this.#timer.cancel();
  }

  /** Oldest first. */
  of(pool: SandboxPool): readonly PoolSize[] {
    return this.#sizes.get(nameOf(pool)) ?? [];
  }

  #look(): void {
    this.#timer = this.#deps.clock.after(everyMs, () => this.#look());
    const at = new Date(this.#deps.clock.now()).toISOString();
    const there = new Set<string>();
    for (const pool of this.#deps.cache.listPools()) {
      const name = nameOf(pool);
      there.add(name);
      const sizes = this.#sizes.get(name) ?? [];
      this.#sizes.set(name, sizes);
      sizes.push(this.#sizeOf(pool, name, at));
      if (sizes.length > mostSizes) sizes.shift();
    }
    for (const name of this.#sizes.keys()) if (!there.has(name)) this.#forget(name);
  }

  #sizeOf({ spec, status = {} }: SandboxPool, name: string, at: string): PoolSize {
    const { idleReplicas = 0, runningReplicas = 0, startingReplicas = 0, stoppingReplicas = 0, pendingRequests = 0, autoscaling } = status;
    const decision = autoscaling?.decision;
    const isNew = decision !== undefined && decision !== this.#decisions.get(name);
    if (isNew) this.#decisions.set(name, decision);
    const inUse = runningReplicas + startingReplicas + stoppingReplicas;
    return { at, wanted: spec.replicas, idle: idleReplicas, inUse, waiting: pendingRequests, ...(isNew && { decision }) };
  }

  #forget(name: string): void {
    this.#sizes.delete(name);
    this.#decisions.delete(name);
  }
}

function nameOf({ metadata: { namespace = "", name = "" } }: SandboxPool): string {
  return `${namespace}/${name}`;
}
