import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { mountIdMap, withNewNamespaces } from "#engines/embedded/node/linux/namespaces.ts";

/**
 * The id maps through which a slot's files are mounted: descriptors of user namespaces in which no process ever lives,
 * so that unlike the slot's own they can be kept and used again by the slot's next user.
 */
export class MountIdMaps {
  readonly #maps = new Map<number, Promise<number>>();

  /** Descriptor of the map for the range that begins at `firstUid`. */
  get(firstUid: number): Promise<number> {
    const known = this.#maps.get(firstUid);
    if (known !== undefined) return known;
    const made = withNewNamespaces({ network: false, idMap: mountIdMap(firstUid) }, (namespaces) =>
      openSync(join(namespaces, "user"), "r"),
    );
    this.#maps.set(firstUid, made);
    made.catch(() => this.#maps.delete(firstUid));
    return made;
  }

  async close(): Promise<void> {
    const maps = await Promise.allSettled(this.#maps.values());
    this.#maps.clear();
    for (const map of maps) {
      if (map.status === "fulfilled") closeSync(map.value);
    }
  }
}
