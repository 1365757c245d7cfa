/**
 * A list whose entries know their place: adding at either end and taking one out of the middle cost the same for any length. For
 * what a Set does not do: begin at the end, or put something in front.
 */
export class LinkedList<T extends object> {
  readonly #ends: Link<T> = ring();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get first(): T | undefined {
    return this.#ends.next.value;
  }

  get last(): T | undefined {
    return this.#ends.previous.value;
  }

  *[Symbol.iterator](): IteratorObject<T, undefined> {
    for (let link = this.#ends.next; link.value !== undefined; link = link.next) yield link.value;
    return undefined;
  }

  addFirst(value: T): Place {
    return this.#insert(value, this.#ends);
  }

  addLast(value: T): Place {
    return this.#insert(value, this.#ends.previous);
  }

  #insert(value: T, previous: Link<T>): Place {
    const { next } = previous;
    const link: Link<T> = { value, previous, next };
    previous.next = link;
    next.previous = link;
    this.#size += 1;
    return { remove: () => this.#remove(link) };
  }

  #remove(link: Link<T>): void {
    if (link.value === undefined) return;
    link.previous.next = link.next;
    link.next.previous = link.previous;
    link.value = undefined;
    this.#size -= 1;
  }
}

/** Where an entry stands. */
export interface Place {
  /** Takes the entry out; once is enough, and more does nothing. */
  remove(): void;
}

/** The one without a value joins both ends, so that no entry is a special case. */
interface Link<T extends object> {
  value: T | undefined;
  previous: Link<T>;
  next: Link<T>;
}

function ring<T extends object>(): Link<T> {
  // Points at itself, which cannot be written before it is there.
  const link = { value: undefined } as Link<T>;
  link.previous = link;
  link.next = link;
  return link;
}
