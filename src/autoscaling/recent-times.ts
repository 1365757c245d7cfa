/** Times in rising order, the latest of them: counted by range without looking at each. Bounded: when full, the oldest go. */
const maxTimes = 16_384;

export class RecentTimes {
  #times: number[] = [];
  /** Before this index everything is forgotten. */
  #head = 0;

  get last(): number | undefined {
    return this.#times.at(-1);
  }

  /** Must not be before the last one. Forgets what is older than `keepFromMs`, but for the latest of these. */
  add(atMs: number, keepFromMs: number): void {
    this.#times.push(atMs);
    this.#head = Math.max(this.#head, this.#after(keepFromMs) - 1, this.#times.length - maxTimes);
    if (this.#head > 64 && this.#head > this.#times.length / 2) {
      this.#times = this.#times.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Forgets one of this time, if there is one. */
  remove(atMs: number): void {
    const index = this.#after(atMs) - 1;
    if (index >= this.#head && this.#times[index] === atMs) this.#times.splice(index, 1);
  }

  /** How many lie after `fromMs`, up to and with `toMs`. */
  count(fromMs: number, toMs: number): number {
    return this.#after(toMs) - this.#after(fromMs);
  }

  lastBefore(ms: number): number | undefined {
    const index = this.#after(ms) - 1;
    return index < this.#head ? undefined : this.#times[index];
  }

  firstAfter(ms: number): number | undefined {
    return this.#times[this.#after(ms)];
  }

  /** Index of the first one after `ms`. */
  #after(ms: number): number {
    let [low, high] = [this.#head, this.#times.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#times[middle] ?? Infinity) <= ms) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
