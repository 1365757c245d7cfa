import type { ApiObject } from "#model/meta.ts";

/** One change of one object: two states in memory, of which one may be missing. */
export interface ObjectChange {
  readonly rv: number;
  readonly key: string;
  /** Undefined when the change removed the object. */
  readonly object: ApiObject | undefined;
  /** Undefined when the change created the object. */
  readonly previous: ApiObject | undefined;
}

/**
 * The newest changes of one resource. Watchers do not own queues: each remembers the version it has seen and asks for the
 * next change after it, so a slow one costs nothing. What has left the tail is still in the log.
 */
export class EventTail {
  readonly #ring: (ObjectChange | undefined)[];
  readonly #sleepers = new Set<() => void>();
  #count = 0;
  #floor: number;

  /** `floor`: the newest version at the time when the tail begins. */
  constructor(capacity: number, floor: number) {
    this.#ring = Array.from({ length: capacity });
    this.#floor = floor;
  }

  /** Every change after this version is in the tail. */
  get floor(): number {
    return this.#floor;
  }

  push(change: ObjectChange): void {
    const slot = this.#count % this.#ring.length;
    this.#floor = this.#ring[slot]?.rv ?? this.#floor;
    this.#ring[slot] = change;
    this.#count++;
  }

  /** Wakes the waiting watches. Apart from `push`, so that changes which belong together are seen together. */
  announce(): void {
    const sleepers = [...this.#sleepers];
    this.#sleepers.clear();
    for (const wake of sleepers) wake();
  }

  /** The first change after this version, which must not be below the floor. */
  next(rv: number): ObjectChange | undefined {
    let low = Math.max(0, this.#count - this.#ring.length);
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const change = this.#ring[middle % this.#ring.length];
      if (change !== undefined && change.rv <= rv) low = middle + 1;
      else high = middle;
    }
    return low < this.#count ? this.#ring[low % this.#ring.length] : undefined;
  }

  /** Calls `wake` once at the next change. Returns how to stop waiting. */
  whenChanged(wake: () => void): () => void {
    this.#sleepers.add(wake);
    return () => this.#sleepers.delete(wake);
  }
}
