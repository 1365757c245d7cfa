import { existsSync, mkdirSync, readdirSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { mountOf, mountTable } from "#engines/embedded/node/linux/mount-table.ts";
import { mountFileSystem, removeMountPoint } from "#engines/embedded/node/linux/mounts.ts";
import type { PodDisks } from "./pod-disks.ts";

/** Room for one file in each so many bytes: folders of packages are full of small files. */
export const bytesPerFile = 8192;

/** Limited memory file systems: fast, and what a pod writes counts as memory of the pod. */
export class MemoryDisks implements PodDisks {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  async ensure(pod: string, sizeBytes: number | undefined): Promise<string> {
    const target = this.folderOf(pod);
    if (sizeBytes === undefined) throw new Error(`pod ${pod} needs a size for its disk in memory: set limits.ephemeral-storage`);
    mkdirSync(target, { recursive: true, mode: 0o700 });
    if (mountOf(target, mountTable())?.target === target) return target;
    const options = { size: sizeBytes, nr_inodes: Math.max(1024, Math.ceil(sizeBytes / bytesPerFile)), mode: "0700" };
    mountFileSystem({ type: "tmpfs", source: "tmpfs", target, flags: ["noSuid", "noDev"], options });
    return target;
  }

  folderOf(pod: string): string {
    return join(this.#folder, pod);
  }

  async remove(pod: string): Promise<void> {
    removeMountPoint(this.folderOf(pod));
  }

  async usedBytes(pod: string): Promise<number> {
    return existsSync(this.folderOf(pod)) ? usedOf(this.folderOf(pod)) : 0;
  }

  pods(): string[] {
    return readdirSync(this.#folder);
  }

  async close(): Promise<void> {}
}

/** What is used of the file system that is mounted at `folder`. */
export function usedOf(folder: string): number {
  const { blocks, bfree, bsize } = statfsSync(folder);
  return (blocks - bfree) * bsize;
}
