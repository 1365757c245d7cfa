import type { ObjectKey } from "#kube/object-client.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";

/** A way to find objects of one kind without walking through all of them. */
export interface Index<T extends ApiObject> {
  readonly name: string;
  readonly type: ResourceType<T>;
  /** Pure and never throwing: the values under which the object is found. None leaves it out. */
  readonly extract: (object: T) => readonly string[];
}

/**
 * What readers see of a cache. Everything is answered from memory and without copying: an iteration is a live view,
 * so take what you need of it before the next `await`, or make it an array (`.toArray()`).
 */
export interface ReadableObjects<T extends ApiObject> {
  readonly size: number;
  get(key: ObjectKey): T | undefined;
  /** All objects, or those of one namespace. */
  list(namespace?: string): IteratorObject<T, undefined>;
  namespaces(): IteratorObject<string, undefined>;
  /** The objects under `value`, the one that has been there longest first. */
  lookup(index: Index<T>, value: string): IteratorObject<T, undefined>;
  count(index: Index<T>, value: string): number;
}

/**
 * One object's place in the store. It stays while the object changes, so buckets of an index hold places: an update that
 * does not change what an index extracts costs that index nothing, and keeps the object's position in it.
 */
interface Place<T> {
  object: T;
}

type Buckets<T> = Map<string, Set<Place<T>>>;

/** Objects by namespace and name, with indexes that are kept at each change. It knows nothing of versions or watches. */
export class IndexedStore<T extends ApiObject> implements ReadableObjects<T> {
  readonly #spaces = new Map<string, Map<string, Place<T>>>();
  readonly #indexes = new Map<Index<T>, Buckets<T>>();
  #size = 0;

  constructor(indexes: readonly Index<T>[]) {
    for (const index of indexes) this.#indexes.set(index, new Map());
  }

  get size(): number {
    return this.#size;
  }

  get(key: ObjectKey): T | undefined {
    return this.#place(key)?.object;
  }

  list(namespace?: string): IteratorObject<T, undefined> {
    if (namespace !== undefined) return objectsAt(this.#spaces.get(namespace)?.values() ?? nothing());
    return this.#spaces.values().flatMap((space) => objectsAt(space.values()));
  }

  namespaces(): IteratorObject<string, undefined> {
    return this.#spaces.keys();
  }

  lookup(index: Index<T>, value: string): IteratorObject<T, undefined> {
    return objectsAt(this.#buckets(index).get(value)?.values() ?? nothing());
  }

  count(index: Index<T>, value: string): number {
    return this.#buckets(index).get(value)?.size ?? 0;
  }

  /** Sets the object and returns the one that was there. */
  put(object: T): T | undefined {
    const key = keyOf(object);
    const place = this.#place(key);
    if (place === undefined) {
      this.#insert(key, object);
      return undefined;
    }
    const before = place.object;
    place.object = object;
    for (const [index, buckets] of this.#indexes) move(buckets, place, index.extract(before), index.extract(object));
    return before;
  }

  remove(key: ObjectKey): T | undefined {
    const space = this.#spaces.get(key.namespace ?? "");
    const place = space?.get(key.name);
    if (space === undefined || place === undefined) return undefined;
    space.delete(key.name);
    if (space.size === 0) this.#spaces.delete(key.namespace ?? "");
    this.#size -= 1;
    for (const [index, buckets] of this.#indexes) move(buckets, place, index.extract(place.object), []);
    return place.object;
  }

  #place(key: ObjectKey): Place<T> | undefined {
    return this.#spaces.get(key.namespace ?? "")?.get(key.name);
  }

  #insert(key: ObjectKey, object: T): void {
    const place: Place<T> = { object };
    const namespace = key.namespace ?? "";
    let space = this.#spaces.get(namespace);
    if (space === undefined) this.#spaces.set(namespace, (space = new Map()));
    space.set(key.name, place);
    this.#size += 1;
    for (const [index, buckets] of this.#indexes) move(buckets, place, [], index.extract(object));
  }

  #buckets(index: Index<T>): Buckets<T> {
    const buckets = this.#indexes.get(index);
    if (buckets === undefined) throw new Error(`the store keeps no index "${index.name}"; give it to the constructor`);
    return buckets;
  }
}

/** The key of an object that a server has named. */
export function keyOf(object: ApiObject): ObjectKey {
  const { name, namespace } = object.metadata;
  if (name === undefined) throw new Error(`an object of kind ${object.kind ?? "unknown"} has no metadata.name and so cannot be cached`);
  return namespace === undefined ? { name } : { namespace, name };
}

function move<T>(buckets: Buckets<T>, place: Place<T>, from: readonly string[], to: readonly string[]): void {
  for (const value of from) {
    if (to.includes(value)) continue;
    const bucket = buckets.get(value);
    bucket?.delete(place);
    // An index by sandbox id has a bucket for each sandbox that ever was, unless empty ones go.
    if (bucket?.size === 0) buckets.delete(value);
  }
  for (const value of to) {
    if (from.includes(value)) continue;
    const bucket = buckets.get(value);
    if (bucket === undefined) buckets.set(value, new Set([place]));
    else bucket.add(place);
  }
}

function objectsAt<T>(places: IteratorObject<Place<T>, undefined>): IteratorObject<T, undefined> {
  return places.map((place) => place.object);
}

function nothing<T>(): IteratorObject<T, undefined> {
  return Iterator.from<T>([]);
}
