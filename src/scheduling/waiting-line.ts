import { LinkedList, type Place } from "#lib/linked-list.ts";

/** Who waits at a pool: tenants in a ring, each with a line of its own. Whoever had a turn goes to the end of the ring. */
export class WaitingLine<Waiter extends object> {
  /** The first one's turn is next. */
  readonly #tenants = new Map<string, LinkedList<Waiter>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Whose turn it is. */
  get next(): Waiter | undefined {
    for (const line of this.#tenants.values()) return line.first;
    return undefined;
  }

  *all(): IteratorObject<Waiter, undefined> {
    for (const line of this.#tenants.values()) yield* line;
    return undefined;
  }

  /** `front`: before the others of the tenant. */
  add(tenant: string, waiter: Waiter, { front }: { readonly front: boolean }): Place {
    const line = this.#tenants.get(tenant) ?? this.#open(tenant);
    const place = front ? line.addFirst(waiter) : line.addLast(waiter);
    this.#size += 1;
    let isThere = true;
    return {
      remove: () => {
        if (!isThere) return;
        isThere = false;
        place.remove();
        this.#size -= 1;
        if (line.size === 0) this.#tenants.delete(tenant);
      },
    };
  }

  /** The tenant has had its turn. */
  rotate(tenant: string): void {
    const line = this.#tenants.get(tenant);
    if (line === undefined) return;
    this.#tenants.delete(tenant);
    this.#tenants.set(tenant, line);
  }

  #open(tenant: string): LinkedList<Waiter> {
    const line = new LinkedList<Waiter>();
    this.#tenants.set(tenant, line);
    return line;
  }
}
