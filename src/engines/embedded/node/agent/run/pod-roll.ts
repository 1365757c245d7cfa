import { formatKey, type Key, parseKey } from "#kube/controller/key.ts";

interface Entry {
  readonly name: string;
  containers: readonly string[];
}

/** Which pods, by uid, this node has touched under which name. A name can have had several; each must be cleaned up after. */
export class PodRoll {
  readonly #pods = new Map<string, Entry>();
  readonly #uids = new Map<string, Set<string>>();
  readonly #owners = new Map<string, string>();

  add(uid: string, key: Key): void {
    if (this.#pods.has(uid)) return;
    const name = formatKey(key);
    this.#pods.set(uid, { name, containers: [] });
    const uids = this.#uids.get(name);
    if (uids === undefined) this.#uids.set(name, new Set([uid]));
    else uids.add(uid);
  }

  /** A pod that was added has exactly these containers now. */
  setContainers(uid: string, ids: readonly string[]): void {
    const entry = this.#pods.get(uid);
    if (entry === undefined) return;
    for (const id of entry.containers) this.#owners.delete(id);
    for (const id of ids) this.#owners.set(id, entry.name);
    entry.containers = ids;
  }

  keyOfContainer(id: string): Key | undefined {
    const name = this.#owners.get(id);
    return name === undefined ? undefined : parseKey(name);
  }

  /** A copy: pods may be removed while it is walked through. */
  under(key: Key): readonly string[] {
    return [...(this.#uids.get(formatKey(key)) ?? [])];
  }

  remove(uid: string): void {
    const entry = this.#pods.get(uid);
    if (entry === undefined) return;
    this.setContainers(uid, []);
    this.#pods.delete(uid);
    const uids = this.#uids.get(entry.name);
    uids?.delete(uid);
    if (uids?.size === 0) this.#uids.delete(entry.name);
  }
}
