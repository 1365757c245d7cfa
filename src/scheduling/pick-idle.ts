/**
 * Chooses which of a pool's free pods is given out. In this order:
 * 1. one that waits on the wanted image already: its claim starts no container
 * 2. one on a node that is known to have the image: its claim pulls nothing
 * 3. one that is not chosen for scale-down: its claim does not change the scale-down plan (W16)
 * 4. the one that became idle last: the longest idle are left for scale-down, which takes those first (W19)
 *
 * Free pods are indexed by image and by node, so that a choice looks at only a few of them in a pool of any size.
 */
import { LinkedList, type Place } from "#lib/linked-list.ts";
import type { Pod } from "#model/pod.ts";

export interface FreePod {
  readonly pod: Pod;
  /** What the first container runs, which is the sandbox. */
  readonly digest: string | undefined;
  readonly isMarked: boolean;
}

/** How many nodes are looked at for a pod; where an image is on more of them, it is on most. */
const maxNodesTried = 32;

export class FreePods<T extends FreePod> {
  readonly #all = new Shelf<T>();
  readonly #byDigest = new Shelves<T>();
  readonly #byNode = new Shelves<T>();

  get size(): number {
    return this.#all.size;
  }

  /** How many of them run this image. */
  on(digest: string): number {
    return this.#byDigest.size(digest);
  }

  add(free: T): Place {
    const { digest = "", pod } = free;
    const places = [this.#all.add(free), this.#byDigest.add(digest, free), this.#byNode.add(pod.spec.nodeName ?? "", free)];
    return { remove: () => places.forEach((place) => place.remove()) };
  }

  /** `nodes` are asked only when no pod waits on the image. */
  pick(digest: string | undefined, nodes: (digest: string) => Iterable<string>): T | undefined {
    if (this.#all.size === 0) return undefined;
    if (digest === undefined) return this.#all.best;
    return this.#byDigest.best(digest) ?? this.#onNodes(nodes(digest)) ?? this.#all.best;
  }

  #onNodes(nodes: Iterable<string>): T | undefined {
    let tried = 0;
    for (const node of nodes) {
      const best = this.#byNode.best(node);
      if (best !== undefined || ++tried === maxNodesTried) return best;
    }
    return undefined;
  }
}

/** Free pods with something in common. */
class Shelf<T extends FreePod> {
  readonly #unmarked = new LinkedList<T>();
  readonly #marked = new LinkedList<T>();

  get size(): number {
    return this.#unmarked.size + this.#marked.size;
  }

  get best(): T | undefined {
    return this.#unmarked.last ?? this.#marked.last;
  }

  add(free: T): Place {
    return (free.isMarked ? this.#marked : this.#unmarked).addLast(free);
  }
}

class Shelves<T extends FreePod> {
  readonly #shelves = new Map<string, Shelf<T>>();

  best(key: string): T | undefined {
    return this.#shelves.get(key)?.best;
  }

  size(key: string): number {
    return this.#shelves.get(key)?.size ?? 0;
  }

  add(key: string, free: T): Place {
    const shelf = this.#shelves.get(key) ?? new Shelf<T>();
    this.#shelves.set(key, shelf);
    const place = shelf.add(free);
    return {
      remove: () => {
        place.remove();
        if (shelf.size === 0 && this.#shelves.get(key) === shelf) this.#shelves.delete(key);
      },
    };
  }
}
