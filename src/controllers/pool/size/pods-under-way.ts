/**
 * Pods that pools of this process are about to make, from the decision until the calls are over. Pools of one group are looked at side by
 * side: without this two of them could both take the last place under the group's maximum.
 */
import { formatKey, type Key } from "#kube/controller/key.ts";

export class PodsUnderWay {
  readonly #counts = new Map<string, number>();

  of(pool: Key): number {
    return this.#counts.get(formatKey(pool)) ?? 0;
  }

  /** Until it is disposed. A pool is looked at by one turn at a time. */
  take(pool: Key, pods: number): Disposable {
    const key = formatKey(pool);
    if (pods > 0) this.#counts.set(key, pods);
    return { [Symbol.dispose]: () => this.#counts.delete(key) };
  }
}
