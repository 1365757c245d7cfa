/** What is remembered of a pool between two looks, and may be lost with the process: when to try again, and what was told already. */
import { formatKey, type Key } from "#kube/controller/key.ts";
import type { Random } from "#lib/backoff.ts";
import type { Pod } from "#model/pod.ts";
import type { PoolImageForm, ResolvedPoolImage } from "#model/sandbox-pool.ts";
import { LossBackoff } from "./loss-backoff.ts";
import type { PoolPace } from "#controllers/pool/pool-deps.ts";

/** Why a pool cannot have the pods that it wants. */
export interface Trouble {
  /** One of poolConditionReasons. */
  readonly reason: string;
  readonly message: string;
}

export interface Retry {
  readonly failures: number;
  readonly atMs: number;
  /** Of what the tries are made; anything else is tried at once. */
  readonly of: string;
}

export interface PoolMemory {
  readonly losses: LossBackoff;
  /** Of which template `losses` were; undefined before the first look. */
  lossesOf: string | undefined;
  /** The last pod that was given up because it did not become ready. */
  givenUp: Pod | undefined;
  trouble: Trouble | undefined;
  retry: Retry | undefined;
  /** Since when refill holds back for claims. */
  heldSinceMs: number | undefined;
  /** Since when pods that nothing waits for are held back for those that requests wait for. */
  stockHeldSinceMs: number | undefined;
  statusAtMs: number | undefined;
  /** What the pool's tags meant when they were last asked for. */
  resolvedImages: readonly ResolvedPoolImage[] | undefined;
  /** How new pods have their images written; undefined: as the pool's status says. */
  imageForm: PoolImageForm | undefined;
  /** Hash of the template whose warnings were told. */
  warnedOf: string | undefined;
  /** Something was wrong and was told, and the pool has not been well since. */
  isTroubleTold: boolean;
}

export class PoolMemories {
  readonly #pace: PoolPace;
  readonly #random: Random;
  readonly #memories = new Map<string, PoolMemory>();

  constructor(pace: PoolPace, random: Random) {
    this.#pace = pace;
    this.#random = random;
  }

  of(pool: Key): PoolMemory {
    const key = formatKey(pool);
    const there = this.#memories.get(key);
    if (there !== undefined) return there;
    const fresh: PoolMemory = {
      losses: new LossBackoff(this.#pace.loss, this.#random),
      lossesOf: undefined,
      givenUp: undefined,
      trouble: undefined,
      retry: undefined,
      heldSinceMs: undefined,
      stockHeldSinceMs: undefined,
      statusAtMs: undefined,
      resolvedImages: undefined,
      imageForm: undefined,
      warnedOf: undefined,
      isTroubleTold: false,
    };
    this.#memories.set(key, fresh);
    return fresh;
  }

  /** The pool is gone. */
  forget(pool: Key): void {
    this.#memories.delete(formatKey(pool));
  }
}
