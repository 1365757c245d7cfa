/** The latest things of each team, within bounds: what one team does pushes out nothing of another's that has less. */
export interface RingBounds {
  /** So many of a team are kept at least, if it has them, and twice as many at most. */
  readonly ofTeam: number;
  /** Of all teams together; then the team that has most loses half. */
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

  /** Of all teams, in no order. */
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
