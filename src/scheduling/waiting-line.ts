import { LinkedList, type Place } from "#lib/linked-list.ts";

interface Tenant<Waiter extends object> {
  readonly line: LinkedList<Waiter>;
  /** Where it stands in the ring. */
  place: Place;
}

/** The requests that wait at a pool: tenants in a ring, each with a queue of its own. After its turn a tenant goes to the end of the ring. */
export class WaitingLine<Waiter extends object> {
  readonly #tenants = new Map<string, Tenant<Waiter>>();
  /** The first one's turn is next. */
  readonly #ring = new LinkedList<Tenant<Waiter>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The next request to serve. */
  get next(): Waiter | undefined {
    return this.#ring.first?.line.first;
  }

  *all(): IteratorObject<Waiter, undefined> {
    for (const { line } of this.#ring) yield* line;
    return undefined;
  }

  /** `front`: before all others. For a request that had its turn and got no pod: neither the request nor its tenant has used the turn. */
  add(name: string, waiter: Waiter, { front }: { readonly front: boolean }): Place {
    const tenant = this.#tenants.get(name) ?? this.#open(name);
    if (front) this.#moveTo(tenant, "front");
    const place = front ? tenant.line.addFirst(waiter) : tenant.line.addLast(waiter);
    this.#size += 1;
    let isThere = true;
    return {
      remove: () => {
        if (!isThere) return;
        isThere = false;
        place.remove();
        this.#size -= 1;
        if (tenant.line.size === 0) this.#close(name, tenant);
      },
    };
  }

  /** The tenant has had its turn. */
  rotate(name: string): void {
    const tenant = this.#tenants.get(name);
    if (tenant !== undefined) this.#moveTo(tenant, "end");
  }

  #moveTo(tenant: Tenant<Waiter>, where: "front" | "end"): void {
    tenant.place.remove();
    tenant.place = where === "front" ? this.#ring.addFirst(tenant) : this.#ring.addLast(tenant);
  }

  #open(name: string): Tenant<Waiter> {
    const tenant: Tenant<Waiter> = { line: new LinkedList<Waiter>(), place: { remove: () => {} } };
    tenant.place = this.#ring.addLast(tenant);
    this.#tenants.set(name, tenant);
    return tenant;
  }

  #close(name: string, tenant: Tenant<Waiter>): void {
    tenant.place.remove();
    this.#tenants.delete(name);
  }
}
