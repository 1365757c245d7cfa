/** Lets work with the same key happen one after another, in the order in which it came; other keys do not wait. */
export class SerialByKey {
  readonly #last = new Map<string, Promise<void>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    this.#last.set(key, over);
    await before;
    try {
      return await work();
    } finally {
      if (this.#last.get(key) === over) this.#last.delete(key);
      end();
    }
  }

  /** Resolves when everything that was asked for is over. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
