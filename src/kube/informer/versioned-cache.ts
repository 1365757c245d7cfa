import type { ObjectKey, ObjectList, WatchEvent } from "#kube/object-client.ts";
import type { ApiObject } from "#model/meta.ts";
import { type Index, IndexedStore, keyOf } from "./indexed-store.ts";
import { compareVersions, newerVersion } from "./versions.ts";

/** One step of one object: appeared (no `before`), changed, or gone (no `now`). */
export type Change<T extends ApiObject> =
  | { readonly now: T; readonly before: T | undefined }
  | { readonly now: undefined; readonly before: T };

/**
 * What the server is known to hold. It takes lists, watch events and answers to our own writes in whatever order they
 * come, and moves every object only forward (I10):
 * - V1: an object is replaced only by a newer version of itself.
 * - V2: `seen` is the version up to which the server has told us everything. What is not here and not newer than `seen`
 *   is gone, so neither a late event nor a late answer brings it back. No tombstones are needed for that.
 * - V3: a complete list ends what it does not hold, except what is newer than the list (written by us after it).
 * - V4: a list older than what was known when it was asked for shows another history (a restored backup, a new store);
 *   then the list is right and versions do not compare.
 */
export class VersionedCache<T extends ApiObject> {
  readonly objects: IndexedStore<T>;
  #seen = "0";
  #newest = "0";

  constructor(indexes: readonly Index<T>[]) {
    this.objects = new IndexedStore(indexes);
  }

  /** Where a watch goes on without a gap. */
  get seen(): string {
    return this.#seen;
  }

  /** Call when the list is asked for, and what it returns with the answer: only what was known before can prove V4. */
  startReplace(): (list: Pick<ObjectList<T>, "items" | "resourceVersion">) => readonly Change<T>[] {
    const known = this.#newest;
    return (list) => this.#replace(list, compareVersions(list.resourceVersion, known) < 0);
  }

  observe(event: WatchEvent<T>): readonly Change<T>[] {
    if (event.type === "BOOKMARK") {
      this.#advance(event.resourceVersion);
      return [];
    }
    const version = versionOf(event.object);
    const held = this.objects.get(keyOf(event.object));
    // Our own last write may be the one that ended the object; its answer and the event then carry the same version.
    const known =
      event.type === "DELETED" && held !== undefined ? compareVersions(version, versionOf(held)) < 0 : this.#knows(version, held);
    this.#advance(version);
    if (known) return [];
    return event.type === "DELETED" ? this.#remove(held) : this.#put(event.object, held);
  }

  /** Lets the answer to our own write in before the watch brings it. */
  remember(object: T): readonly Change<T>[] {
    const version = versionOf(object);
    const held = this.objects.get(keyOf(object));
    if (this.#knows(version, held)) return [];
    this.#newest = newerVersion(this.#newest, version);
    return this.#put(object, held);
  }

  /** The same version of an object in another form, if that has become another one. */
  reshape(key: ObjectKey, shape: (object: T) => T): readonly Change<T>[] {
    const held = this.objects.get(key);
    const now = held === undefined ? undefined : shape(held);
    return now === undefined || now === held ? [] : this.#put(now, held);
  }

  /** V1 and V2. */
  #knows(version: string, held: T | undefined): boolean {
    return compareVersions(version, held === undefined ? this.#seen : versionOf(held)) <= 0;
  }

  #advance(version: string): void {
    this.#seen = newerVersion(this.#seen, version);
    this.#newest = newerVersion(this.#newest, version);
  }

  #replace(list: Pick<ObjectList<T>, "items" | "resourceVersion">, otherHistory: boolean): readonly Change<T>[] {
    const listed = new IndexedStore<T>([]);
    for (const item of list.items) listed.put(item);
    const ended = this.objects
      .list()
      .filter((held) => listed.get(keyOf(held)) === undefined)
      .filter((held) => otherHistory || compareVersions(versionOf(held), list.resourceVersion) <= 0)
      .toArray();
    const changes = ended.flatMap((held) => this.#remove(held));
    for (const item of list.items) {
      const held = this.objects.get(keyOf(item));
      if (held !== undefined && (otherHistory ? sameState(held, item) : compareVersions(versionOf(held), versionOf(item)) >= 0)) continue;
      changes.push(...this.#put(item, held));
    }
    this.#seen = list.resourceVersion;
    this.#newest = otherHistory ? list.resourceVersion : newerVersion(this.#newest, list.resourceVersion);
    return changes;
  }

  #put(object: T, held: T | undefined): readonly Change<T>[] {
    // The same name is not the same object: handlers must see the old one end before the new one begins.
    if (held !== undefined && held.metadata.uid !== object.metadata.uid) {
      return [...this.#remove(held), ...this.#put(object, undefined)];
    }
    this.objects.put(object);
    return [{ now: object, before: held }];
  }

  #remove(held: T | undefined): Change<T>[] {
    if (held === undefined) return [];
    this.objects.remove(keyOf(held));
    return [{ now: undefined, before: held }];
  }
}

function sameState(a: ApiObject, b: ApiObject): boolean {
  return a.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion;
}

function versionOf(object: ApiObject): string {
  const version = object.metadata.resourceVersion;
  if (version === undefined)
    throw new Error(
      `${object.kind ?? "object"} ${object.metadata.name ?? ""} has no resourceVersion; only what a server returned can be cached`,
    );
  return version;
}
