/**
 * The keys that wait, in lanes. A key takes one of each of its places while it runs; keys with the same places wait in one lane, in the order
 * in which they came, and lanes take turns. So a lane whose places are all taken holds up no other.
 */
export interface Place {
  readonly name: string;
  /** So many keys have one at a time. */
  readonly most: number;
  /** The last `count` of them are only for keys while no key has the place `unless`: an owner that has nothing yet finds one. */
  readonly kept?: { readonly count: number; readonly unless: string };
}

export interface NextKey {
  readonly key: string;
  /** Since when it waited. */
  readonly since: number;
  readonly places: readonly Place[];
}

interface Lane {
  readonly places: readonly Place[];
  /** The order of insertion is the order of service. */
  readonly waiting: Map<string, number>;
}

export class Lanes {
  readonly #placesOf: (key: string) => readonly Place[];
  readonly #lanes = new Map<string, Lane>();
  readonly #laneOfKey = new Map<string, string>();
  readonly #taken = new Map<string, number>();

  constructor(placesOf: (key: string) => readonly Place[]) {
    this.#placesOf = placesOf;
  }

  /** How many wait. */
  get size(): number {
    return this.#laneOfKey.size;
  }

  /** False if the key waited already. It then moves to where it belongs by now, and has waited since then. */
  add(key: string, since: number): boolean {
    const places = this.#placesOf(key);
    const name = places.map((place) => place.name).join("\n");
    const before = this.#laneOfKey.get(key);
    if (before === name) return false;
    const waitedSince = before === undefined ? since : this.#leave(key, before);
    const lane = this.#lanes.get(name) ?? { places, waiting: new Map<string, number>() };
    this.#lanes.set(name, lane);
    lane.waiting.set(key, waitedSince ?? since);
    this.#laneOfKey.set(key, name);
    return before === undefined;
  }

  /** The next key that all places are free for, which it has then. */
  next(): NextKey | undefined {
    for (const [name, lane] of this.#lanes) {
      if (!lane.places.every((place) => this.#isFree(place))) continue;
      const [first] = lane.waiting;
      if (first === undefined) continue;
      const [key, since] = first;
      this.#leave(key, name);
      // To the end of the turn, unless it was the lane's last key.
      if (this.#lanes.delete(name) && lane.waiting.size > 0) this.#lanes.set(name, lane);
      for (const place of lane.places) this.#taken.set(place.name, (this.#taken.get(place.name) ?? 0) + 1);
      return { key, since, places: lane.places };
    }
    return undefined;
  }

  #isFree({ name, most, kept }: Place): boolean {
    const keptNow = kept !== undefined && this.#taken.has(kept.unless) ? kept.count : 0;
    return (this.#taken.get(name) ?? 0) < most - keptNow;
  }

  giveBack(places: readonly Place[]): void {
    for (const { name } of places) {
      const left = (this.#taken.get(name) ?? 1) - 1;
      if (left === 0) this.#taken.delete(name);
      else this.#taken.set(name, left);
    }
  }

  /** Takes a key out of its lane; false if it does not wait. */
  remove(key: string): boolean {
    const name = this.#laneOfKey.get(key);
    if (name === undefined) return false;
    this.#leave(key, name);
    return true;
  }

  clear(): void {
    this.#lanes.clear();
    this.#laneOfKey.clear();
  }

  #leave(key: string, name: string): number | undefined {
    const lane = this.#lanes.get(name);
    const since = lane?.waiting.get(key);
    lane?.waiting.delete(key);
    this.#laneOfKey.delete(key);
    if (lane?.waiting.size === 0) this.#lanes.delete(name);
    return since;
  }
}
