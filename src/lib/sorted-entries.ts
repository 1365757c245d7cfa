const chunkSize = 512;

/**
 * Entries in the order of their keys. Kept in chunks, so that an insert moves a few hundred references and not all of them,
 * and a range is found without walking what lies before it.
 */
export class SortedEntries<E extends { readonly key: string }> {
  readonly #chunks: E[][] = [[]];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  insert(entry: E): void {
    const at = this.#chunkFor(entry.key);
    const chunk = this.#chunkAt(at);
    chunk.splice(lowerBound(chunk, entry.key), 0, entry);
    if (chunk.length > chunkSize) this.#chunks.splice(at + 1, 0, chunk.splice(chunkSize / 2));
    this.#size++;
  }

  remove(key: string): void {
    const at = this.#chunkFor(key);
    const chunk = this.#chunkAt(at);
    const index = lowerBound(chunk, key);
    if (chunk[index]?.key !== key) return;
    chunk.splice(index, 1);
    if (chunk.length === 0 && this.#chunks.length > 1) this.#chunks.splice(at, 1);
    this.#size--;
  }

  /** All entries with keys of this prefix that are not below `from`. Do not insert or remove while iterating. */
  *range(prefix: string, from: string = prefix): Generator<E> {
    const start = from > prefix ? from : prefix;
    for (let at = this.#chunkFor(start); at < this.#chunks.length; at++) {
      const chunk = this.#chunkAt(at);
      for (let i = lowerBound(chunk, start); i < chunk.length; i++) {
        const entry = chunk[i];
        if (entry?.key.startsWith(prefix) !== true) return;
        yield entry;
      }
    }
  }

  /** Entries with keys below `end`, all when it is left out, from the highest down. Do not insert or remove while iterating. */
  *backwards(end?: string): Generator<E> {
    for (let at = end === undefined ? this.#chunks.length - 1 : this.#chunkFor(end); at >= 0; at--) {
      const chunk = this.#chunkAt(at);
      for (let i = (end === undefined ? chunk.length : lowerBound(chunk, end)) - 1; i >= 0; i--) {
        const entry = chunk[i];
        if (entry !== undefined) yield entry;
      }
    }
  }

  /** How many entries `range` would give, without giving them. */
  count(prefix: string, from: string = prefix): number {
    const start = from > prefix ? from : prefix;
    return prefix === "" ? this.#size - this.#rank(start) : this.#rank(after(prefix)) - this.#rank(start);
  }

  #rank(key: string): number {
    const at = this.#chunkFor(key);
    let rank = lowerBound(this.#chunkAt(at), key);
    for (let i = 0; i < at; i++) rank += this.#chunkAt(i).length;
    return rank;
  }

  /** The last chunk that begins at or before the key: the only one that can hold it. */
  #chunkFor(key: string): number {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      const first = this.#chunks[middle]?.[0];
      if (first !== undefined && first.key <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #chunkAt(index: number): E[] {
    const chunk = this.#chunks[index];
    if (chunk === undefined) throw new Error(`there is no chunk ${index} of ${this.#chunks.length}`);
    return chunk;
  }
}

/** The least string that is greater than every string with this prefix. Prefixes here end in a slash, never in the last character. */
export function after(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
}

function lowerBound(chunk: readonly { readonly key: string }[], key: string): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const entry = chunk[middle];
    if (entry !== undefined && entry.key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
