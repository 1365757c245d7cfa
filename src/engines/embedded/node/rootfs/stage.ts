import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { detachBelow } from "#engines/embedded/node/linux/mount-table.ts";
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

/** For the empty folders and files that things are mounted on. */
const largestStage = "1m";
const rootName = "root";

/**
 * Where the file systems of one container are put together. The runtime moves them from here into the container's own mount
 * namespace. Afterwards the machine has no mount of them left, so none has to be cleaned up later.
 *
 * A stage is a mount itself, so that one call detaches everything on it: the kernel waits a moment for each call.
 * The folder of the root file system stays, empty, as long as the container: `runc exec` changes into it first.
 */
export class Stage {
  readonly folder: string;

  constructor(parent: string, name: string) {
    this.folder = join(parent, name);
    const root = join(this.folder, rootName);
    mkdirSync(root, { recursive: true });
    chmodSync(this.folder, 0o711);
    mountFileSystem({
      type: "tmpfs",
      source: "stage",
      target: this.folder,
      flags: ["noSuid", "noDev"],
      options: { mode: "0711", size: largestStage },
    });
    mkdirSync(root);
  }

  bindFolder(source: string, name: string, attributes: TreeAttributes = {}): string {
    const target = this.#folderFor(name);
    bindMount(source, target, attributes);
    return target;
  }

  bindFile(source: string, name: string, attributes: TreeAttributes = {}): string {
    const target = join(this.folder, name);
    writeFileSync(target, "");
    bindMount(source, target, attributes);
    return target;
  }

  root(layers: Omit<Overlay, "target">): string {
    const target = join(this.folder, rootName);
    mountOverlay({ ...layers, target });
    return target;
  }

  overlay(name: string, layers: Omit<Overlay, "target">): string {
    const target = this.#folderFor(name);
    mountOverlay({ ...layers, target });
    return target;
  }

  fileSystem(name: string, wanted: Omit<FileSystem, "target">): string {
    const target = this.#folderFor(name);
    mountFileSystem({ ...wanted, target });
    return target;
  }

  /** Takes everything away but the empty folder of the root. */
  clear(): void {
    detachMount(this.folder);
  }

  #folderFor(name: string): string {
    const target = join(this.folder, name);
    mkdirSync(target);
    return target;
  }
}

/** Removes what is left of a container's stage: two empty folders. */
export function removeStage(parent: string, name: string): void {
  for (const folder of [join(parent, name, rootName), join(parent, name)]) removeMountPoint(folder);
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
