import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  bindMount,
  detachMount,
  type FileSystem,
  mountFileSystem,
  mountOverlay,
  type Overlay,
  removeMountPoint,
  type TreeAttributes,
} from "#engines/embedded/node/linux/mounts.ts";
import { detachBelow } from "#engines/embedded/node/linux/mount-table.ts";

/**
 * Where the file systems of one container are put together. The runtime takes them from here into the container's own
 * mount namespace; afterwards the machine has no mount of them left that somebody would have to take away one day.
 * The folder of the root file system stays while the container does, empty: `runc exec` begins by going there.
 */
export class Stage {
  readonly folder: string;
  readonly #mounted: string[] = [];

  constructor(parent: string, name: string) {
    this.folder = join(parent, name);
    mkdirSync(join(this.folder, rootName), { recursive: true });
    chmodSync(this.folder, 0o711);
  }

  bindFolder(source: string, name: string, attributes: TreeAttributes = {}): string {
    const target = this.#folderFor(name);
    bindMount(source, target, attributes);
    this.#mounted.push(target);
    return target;
  }

  bindFile(source: string, name: string, attributes: TreeAttributes = {}): string {
    const target = join(this.folder, name);
    writeFileSync(target, "");
    bindMount(source, target, attributes);
    this.#mounted.push(target);
    return target;
  }

  root(layers: Omit<Overlay, "target">): string {
    return this.#overlay(join(this.folder, rootName), layers);
  }

  overlay(name: string, layers: Omit<Overlay, "target">): string {
    return this.#overlay(this.#folderFor(name), layers);
  }

  fileSystem(name: string, wanted: Omit<FileSystem, "target">): string {
    const target = this.#folderFor(name);
    mountFileSystem({ ...wanted, target });
    this.#mounted.push(target);
    return target;
  }

  /** Takes one thing away again: an overlay goes on with layers that are mounted nowhere. */
  drop(target: string): void {
    removeMountPoint(target);
    this.#mounted.splice(this.#mounted.indexOf(target), 1);
  }

  /** Takes everything away but the empty folder of the root. */
  clear(): void {
    for (const target of this.#mounted.splice(0).reverse()) {
      if (target.endsWith(`/${rootName}`)) detachMount(target);
      else removeMountPoint(target);
    }
  }

  #overlay(target: string, layers: Omit<Overlay, "target">): string {
    mountOverlay({ ...layers, target });
    this.#mounted.push(target);
    return target;
  }

  #folderFor(name: string): string {
    const target = join(this.folder, name);
    mkdirSync(target);
    return target;
  }
}

const rootName = "root";

/** Removes what is left of a container's stage. */
export function removeStage(parent: string, name: string): void {
  rmSync(join(parent, name), { recursive: true, force: true });
}

/** Takes away what a process left mounted that died while it created containers. */
export function detachStages(parent: string): void {
  mkdirSync(parent, { recursive: true });
  chmodSync(parent, 0o711);
  detachBelow(parent);
}

/** Removes all stages but those of `kept`. */
export function sweepStages(parent: string, kept: ReadonlySet<string>): void {
  for (const name of readdirSync(parent)) if (!kept.has(name)) removeStage(parent, name);
}
