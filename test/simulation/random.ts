/** Chance that can be repeated: the same seed gives the same numbers, whatever machine it is. */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Of its own sequence, so that one part of the world that asks more often does not change what happens to the others. */
  fork(name: string): SeededRandom {
    let hash = this.#state ^ 0x9e37_79b9;
    for (const character of name) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x0100_0193);
    return new SeededRandom(hash ^ (hash >>> 15));
  }

  /** At least 0 and less than 1. */
  readonly next = (): number => {
    this.#state = (this.#state + 0x6d2b_79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };

  chance(probability: number): boolean {
    return probability > 0 && this.next() < probability;
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.next() * from.length)];
  }

  /** One of the keys, each as likely as its weight. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries(weights) as [K, number][]; // Keys of a record of K are K.
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [key, weight] of entries) {
      left -= weight;
      if (left < 0) return key;
    }
    throw new Error("there is nothing to choose from");
  }
}
