/** The latest items of each team, within bounds. A team with many items never pushes out those of a team with fewer. */
export interface RingBounds {
  /** At least this many of a team are kept, if it has them, and at most twice as many. */
  readonly ofTeam: number;
  /** The bound for all teams together; beyond it the team with the most items loses half of them. */
  readonly ofAll: number;
}

export class TeamRings<T> {
  readonly #bounds: RingBounds;
  readonly #rings = new Map<string, T[]>();
  #size = 0;

  constructor(bounds: RingBounds) {
    this.#bounds = bounds;
  }

  add(team: string, item: T): void {
    const ring = this.#rings.get(team) ?? [];
    this.#rings.set(team, ring);
    ring.push(item);
    this.#size += 1;
    if (ring.length >= 2 * this.#bounds.ofTeam) this.#drop(ring, this.#bounds.ofTeam);
    if (this.#size > this.#bounds.ofAll) this.#shrink();
  }

  /** Oldest first. */
  of(team: string): readonly T[] {
    return this.#rings.get(team) ?? [];
  }

  /** The items of all teams, in no order. */
  all(): IteratorObject<T, undefined> {
    return this.#rings.values().flatMap((ring) => ring);
  }

  #shrink(): void {
    const [team, ring] = [...this.#rings].reduce((most, one) => (one[1].length > most[1].length ? one : most));
    this.#drop(ring, Math.ceil(ring.length / 2));
    if (ring.length === 0) this.#rings.delete(team);
  }

  #drop(ring: T[], count: number): void {
    ring.splice(0, count);
    this.#size -= count;
  }
}
