/**
 * The keys that wait, in lanes. A key takes one of each of its places while it runs; keys with the same places wait in one lane, in the order
 * in which they came, and lanes take turns. So a lane whose places are all taken holds up no other.
 *
 * Keys have ranks, and those of a higher rank go before all others: ten thousand looks at things that are as they were hold up no work that
 * is waited for. Every few turns the lowest rank has its turn, so that it is late at most.
 */
/** From the highest. `first`: a request waits for it. `routine`: nothing is known to have changed. */
const ranks = ["first", "usual", "routine"] as const;
export type Rank = (typeof ranks)[number];

const lowestFirst = ranks.toReversed();
const usualFirst: readonly Rank[] = ["usual", "first", "routine"];
/** Of so many turns one begins with the lowest rank, and this one with the rank in the middle. */
const turnsOfRanks = 8;
const usualTurn = 3;

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

interface Spot {
  readonly rank: Rank;
  /** Of the lane. */
  readonly name: string;
}

interface Lane {
  readonly places: readonly Place[];
  /** The order of insertion is the order of service. */
  readonly waiting: Map<string, number>;
}

export class Lanes {
  readonly #placesOf: (key: string) => readonly Place[];
  readonly #lanes: Readonly<Record<Rank, Map<string, Lane>>> = { first: new Map(), usual: new Map(), routine: new Map() };
  readonly #spots = new Map<string, Spot>();
  readonly #taken = new Map<string, number>();
  #turns = 0;

  constructor(placesOf: (key: string) => readonly Place[]) {
    this.#placesOf = placesOf;
  }

  /** How many wait. */
  get size(): number {
    return this.#spots.size;
  }

  /** False if the key waited already. It then moves to where it belongs by now, never to a lower rank, and has waited since then. */
  add(key: string, since: number, wanted: Rank = "usual"): boolean {
    const places = this.#placesOf(key);
    const name = places.map((place) => place.name).join("\n");
    const before = this.#spots.get(key);
    const rank = before !== undefined && ranks.indexOf(before.rank) < ranks.indexOf(wanted) ? before.rank : wanted;
    if (before?.name === name && before.rank === rank) return false;
    const waitedSince = before === undefined ? since : this.#leave(key, before);
    const lanes = this.#lanes[rank];
    const lane = lanes.get(name) ?? { places, waiting: new Map<string, number>() };
    lanes.set(name, lane);
    lane.waiting.set(key, waitedSince ?? since);
    this.#spots.set(key, { rank, name });
    return before === undefined;
  }

  /** The next key that all places are free for, which it has then. */
  next(): NextKey | undefined {
    const turn = this.#turns % turnsOfRanks;
    const lower = turn === usualTurn ? usualFirst : ranks;
    const order = turn === turnsOfRanks - 1 ? lowestFirst : lower;
    for (const rank of order) {
      const next = this.#nextOf(rank);
      if (next === undefined) continue;
      this.#turns += 1;
      return next;
    }
    return undefined;
  }

  #nextOf(rank: Rank): NextKey | undefined {
    const lanes = this.#lanes[rank];
    for (const [name, lane] of lanes) {
      if (!lane.places.every((place) => this.#isFree(place))) continue;
      const [first] = lane.waiting;
      if (first === undefined) continue;
      const [key, since] = first;
      this.#leave(key, { rank, name });
      // To the end of the turn, unless it was the lane's last key.
      if (lanes.delete(name) && lane.waiting.size > 0) lanes.set(name, lane);
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
    const spot = this.#spots.get(key);
    if (spot === undefined) return false;
    this.#leave(key, spot);
    return true;
  }

  clear(): void {
    for (const rank of ranks) this.#lanes[rank].clear();
    this.#spots.clear();
  }

  #leave(key: string, { rank, name }: Spot): number | undefined {
    const lane = this.#lanes[rank].get(name);
    const since = lane?.waiting.get(key);
    lane?.waiting.delete(key);
    this.#spots.delete(key);
    if (lane?.waiting.size === 0) this.#lanes[rank].delete(name);
    return since;
  }
}
