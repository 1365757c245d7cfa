import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  bindMount,
  type FileSystem,
  mountFileSystem,
  mountOverlay,
  type Overlay,
  removeMountPoint,
  type TreeAttributes,
} from "../linux/mounts.ts";
import { detachBelow } from "../linux/mount-table.ts";

/**
 * Where the file systems of one container are put together. The runtime takes them from here into the container's own
 * mount namespace; afterwards the machine has no mount of them left that somebody would have to take away one day.
 */
export class Stage {
  readonly folder: string;
  readonly #mounted: string[] = [];

  constructor(parent: string, name: string) {
    this.folder = join(parent, name);
    mkdirSync(this.folder, { mode: 0o711 });
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

  overlay(name: string, layers: Omit<Overlay, "target">): string {
    const target = this.#folderFor(name);
    mountOverlay({ ...layers, target });
    this.#mounted.push(target);
    return target;
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

  clear(): void {
    for (const target of this.#mounted.splice(0).reverse()) removeMountPoint(target);
    rmSync(this.folder, { recursive: true, force: true });
  }

  #folderFor(name: string): string {
    const target = join(this.folder, name);
    mkdirSync(target);
    return target;
  }
}

/** Removes what a process left that died while it created containers. */
export function sweepStages(parent: string): void {
  detachBelow(parent);
  rmSync(parent, { recursive: true, force: true });
}
