/** Lets only so many pieces of work run at once, whatever their owner; the last place is for an owner that has none. Owners that wait take turns. */
import { Lanes, type Place } from "./lanes.ts";

interface Waiting {
  readonly places: readonly Place[];
  readonly enter: () => void;
}

export class FairLimiter {
  readonly #most: number;
  readonly #waiting = new Map<string, Waiting>();
  readonly #lanes = new Lanes((id) => this.#waiting.get(id)?.places ?? []);
  #lastId = 0;

  constructor(most: number) {
    this.#most = most;
  }

  async run<T>(owner: string, work: () => Promise<T>): Promise<T> {
    const places = this.#placesOf(owner);
    await new Promise<void>((enter) => {
      const id = String(this.#lastId++);
      this.#waiting.set(id, { places, enter });
      this.#lanes.add(id, 0);
      this.#admit();
    });
    try {
      return await work();
    } finally {
      this.#lanes.giveBack(places);
      this.#admit();
    }
  }

  #placesOf(owner: string): readonly Place[] {
    const own = `owner ${owner}`;
    const kept = { count: this.#most > 1 ? 1 : 0, unless: own };
    return [
      { name: "all", most: this.#most, kept },
      { name: own, most: this.#most },
    ];
  }

  #admit(): void {
    for (let next = this.#lanes.next(); next !== undefined; next = this.#lanes.next()) {
      const { enter } = this.#waiting.get(next.key) as Waiting;
      this.#waiting.delete(next.key);
      enter();
    }
  }
}
