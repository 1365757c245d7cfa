/**
 * What plugins refused to pools that wanted pods for waiting requests. Remembered for a moment, so that a hundred waiters do not ask a
 * hundred times; the autoscaler writes it into the pool's status. The moment is measured: a time of day that is set back would make it last.
 */
import { formatKey, type Key } from "#kube/controller/key.ts";
import type { Source } from "#kube/controller/source.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import type { NamedRefusal } from "#plugins/plugin.ts";

export interface PoolRefusal {
  /** So many pods are admitted. */
  readonly admitted: number;
  readonly wanted: number;
  readonly refusal: NamedRefusal;
  /** By the monotonic clock. */
  readonly atMs: number;
}

const rememberedMs = 1_000;

export class PoolRefusals {
  readonly #clock: MonotonicClock;
  readonly #refusals = new Map<string, PoolRefusal>();
  readonly #handlers = new Set<(pool: Key) => void>();

  constructor(clock: MonotonicClock) {
    this.#clock = clock;
  }

  note(pool: Key, refusal: Omit<PoolRefusal, "atMs">): void {
    this.#refusals.set(formatKey(pool), { ...refusal, atMs: this.#clock.monotonic() });
    for (const handler of this.#handlers) handler(pool);
  }

  /** The latest one, if it is fresh. */
  fresh(pool: Key): PoolRefusal | undefined {
    const refusal = this.#refusals.get(formatKey(pool));
    return refusal !== undefined && this.#clock.monotonic() - refusal.atMs < rememberedMs ? refusal : undefined;
  }

  /** For how long the refusal is still remembered. */
  leftMs(pool: Key): number | undefined {
    const refusal = this.fresh(pool);
    return refusal === undefined ? undefined : refusal.atMs + rememberedMs - this.#clock.monotonic();
  }

  forget(pool: Key): void {
    this.#refusals.delete(formatKey(pool));
  }

  /** Wakes a controller with `keys` of the pool that was refused. */
  source(keys: (pool: Key) => readonly Key[]): Source {
    return {
      connect: (add) => {
        const handler = (pool: Key): void => keys(pool).forEach((key) => add(key));
        this.#handlers.add(handler);
        return { whenSynced: async () => {}, remove: () => this.#handlers.delete(handler) };
      },
    };
  }
}
