/**
 * Pools of this process that are about to have more pods, from the decision until the calls are over. Pools are looked at side by side:
 * without this two of them could both take the last place under a group's maximum or a team's limit.
 */
import { formatKey, type Key } from "#kube/controller/key.ts";

export class PodsUnderWay {
  readonly #upTo = new Map<string, number>();

  /** How many pods the pool is about to have; 0 where none is being made. Those that are there already count. */
  upTo(pool: Key): number {
    return this.#upTo.get(formatKey(pool)) ?? 0;
  }

  /** The pools that are about to have more, as formatted keys. Few: one for each pool that is being looked at. */
  pools(): Iterable<readonly [pool: string, upTo: number]> {
    return this.#upTo;
  }

  /** `there`: pods that the pool has. Until it is disposed. A pool is looked at by one turn at a time. */
  take(pool: Key, there: number, missing: number): Disposable {
    const key = formatKey(pool);
    if (missing > 0) this.#upTo.set(key, there + missing);
    return { [Symbol.dispose]: () => this.#upTo.delete(key) };
  }
}
