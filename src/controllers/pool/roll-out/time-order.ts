/**
 * Things by name, read out by time, the oldest first. Changing one costs the same whatever else is there; reading sorts only if something
 * came in out of turn, and what comes in is usually the newest.
 */
export class TimeOrder<T> {
  readonly #byName = new Map<string, Entry<T>>();
  #entries: Entry<T>[] = [];
  #isSorted = true;

  get size(): number {
    return this.#byName.size;
  }

  get(name: string): T | undefined {
    return this.#byName.get(name)?.value;
  }

  set(name: string, time: number, value: T): void {
    const before = this.#byName.get(name);
    if (before?.time === time) {
      before.value = value;
      return;
    }
    this.delete(name);
    const last = this.#entries.at(-1);
    if (last !== undefined && last.time > time) this.#isSorted = false;
    const entry = { name, time, value, isGone: false };
    this.#entries.push(entry);
    this.#byName.set(name, entry);
  }

  delete(name: string): void {
    const entry = this.#byName.get(name);
    if (entry === undefined) return;
    entry.isGone = true;
    this.#byName.delete(name);
    // Taken out many at a time: one by one would move all the others each time.
    if (this.#entries.length > 2 * this.#byName.size + 32) this.#tidy();
  }

  /** The changes of others while one reads may or may not be seen. */
  *oldestFirst(): Generator<T, undefined> {
    if (!this.#isSorted) {
      this.#tidy();
      this.#entries.sort((left, right) => left.time - right.time || (left.name < right.name ? -1 : 1));
      this.#isSorted = true;
    }
    for (const entry of this.#entries) if (!entry.isGone) yield entry.value;
  }

  #tidy(): void {
    this.#entries = this.#entries.filter((entry) => !entry.isGone);
  }
}

interface Entry<T> {
  readonly name: string;
  readonly time: number;
  value: T;
  isGone: boolean;
}
