/** The largest of the numbers that were noted during the latest window. Memory is bounded: times are kept in a fixed number of steps. */
export class WantedWindow {
  readonly #entries: { atMs: number; value: number }[] = [];

  note(value: number, nowMs: number): void {
    // An earlier number that is not larger can never be the largest again.
    while ((this.#entries.at(-1)?.value ?? Infinity) <= value) this.#entries.pop();
    this.#entries.push({ atMs: nowMs, value });
    // Numbers that fall one by one: the oldest stay exact, the latest two become one.
    if (this.#entries.length > maxEntries) this.#entries.splice(-2, 1);
  }

  /** 0 when nothing was noted. */
  largest(windowMs: number, nowMs: number): number {
    while ((this.#entries[0]?.atMs ?? Infinity) < nowMs - windowMs) this.#entries.shift();
    return this.#entries[0]?.value ?? 0;
  }
}

const maxEntries = 512;
