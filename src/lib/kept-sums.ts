/** Sums over things that come, change and go, kept at every change: reading one costs the same for ten things and for ten thousand. */
export class KeptSums<Name extends string> {
  readonly #counted = new Map<string, Readonly<Partial<Record<Name, number>>>>();
  readonly #sums = new Map<Name, number>();

  /** What the thing counts from now on; undefined: it is gone. Whole numbers, so that sums do not drift. */
  put(key: string, amounts: Readonly<Partial<Record<Name, number>>> | undefined): void {
    this.#add(this.#counted.get(key), -1);
    this.#add(amounts, 1);
    if (amounts === undefined) this.#counted.delete(key);
    else this.#counted.set(key, amounts);
  }

  /** Of all things but this one. */
  ofOthers(key: string, name: Name): number {
    return (this.#sums.get(name) ?? 0) - (this.#counted.get(key)?.[name] ?? 0);
  }

  #add(amounts: Readonly<Partial<Record<Name, number>>> | undefined, sign: 1 | -1): void {
    for (const [name, amount] of Object.entries(amounts ?? {}) as [Name, number][]) {
      const sum = (this.#sums.get(name) ?? 0) + sign * amount;
      if (sum === 0) this.#sums.delete(name);
      else this.#sums.set(name, sum);
    }
  }
}
