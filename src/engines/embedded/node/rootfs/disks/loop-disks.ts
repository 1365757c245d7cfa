/**
 * Disks that are files: a sparse file, an ext4 file system in it, a loop device. Works on every machine. To mount one can
 * take long when the machine is busy, so a disk of the size that was asked for last is always made ahead.
 */
import { closeSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import type { Logger } from "#lib/log.ts";
import { attachLoop } from "#engines/embedded/node/linux/loop-device.ts";
import { mountOf, mountTable } from "#engines/embedded/node/linux/mount-table.ts";
import { mountFileSystem, moveMount, removeDiskMountPoint, removeMountPoint } from "#engines/embedded/node/linux/mounts.ts";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import { bytesPerFile, usedOf } from "./memory-disks.ts";
import type { PodDisks } from "./pod-disks.ts";

export interface LoopDiskOptions {
  /** For the files: on a file system with room. */
  readonly files: string;
  /** For the places where they are mounted: below a private mount. */
  readonly mounts: string;
  readonly log: Logger;
}

interface Spare {
  readonly sizeBytes: number;
  readonly name: string;
}

const templatePrefix = "template-";
const sparePrefix = "spare-";
/** A file system needs some room for itself. */
const smallestBytes = 16 * 2 ** 20;
const installMkfs = "apt-get install e2fsprogs";

export class LoopDisks implements PodDisks {
  readonly #options: LoopDiskOptions;
  #spare: Promise<Spare | undefined> = Promise.resolve(undefined);
  #counter = 0;

  constructor(options: LoopDiskOptions) {
    this.#options = options;
    mkdirSync(options.files, { recursive: true, mode: 0o700 });
    mkdirSync(options.mounts, { recursive: true, mode: 0o700 });
    for (const name of this.#names().filter((each) => each.startsWith(sparePrefix))) {
      rmSync(this.#file(name), { force: true });
      removeMountPoint(this.folderOf(name));
    }
  }

  async ensure(pod: string, sizeBytes: number | undefined): Promise<string> {
    if (sizeBytes === undefined) throw new Error(`pod ${pod} needs a size for its disk: set limits.ephemeral-storage`);
    const folder = this.folderOf(pod);
    if (mountOf(folder, mountTable())?.target === folder) return folder;
    await this.#drop(pod);
    const size = Math.max(smallestBytes, sizeBytes);
    const spare = await this.#takeSpare(size);
    if (spare === undefined) await this.#make(pod, size);
    else this.#rename(spare.name, pod);
    return folder;
  }

  folderOf(pod: string): string {
    return join(this.#options.mounts, pod);
  }

  async remove(pod: string): Promise<void> {
    await this.#drop(pod);
  }

  async usedBytes(pod: string): Promise<number> {
    return existsSync(this.folderOf(pod)) ? usedOf(this.folderOf(pod)) : 0;
  }

  pods(): string[] {
    return this.#names().filter((name) => !name.startsWith(sparePrefix) && !name.startsWith(templatePrefix));
  }

  async close(): Promise<void> {
    const spare = await this.#spare;
    if (spare !== undefined) await this.#drop(spare.name);
  }

  /** The spare disk, if it has the right size; and the next one is begun. */
  async #takeSpare(sizeBytes: number): Promise<Spare | undefined> {
    const spare = this.#spare;
    this.#spare = spare.then((old) => this.#nextSpare(old, sizeBytes));
    const ready = await spare;
    return ready?.sizeBytes === sizeBytes ? ready : undefined;
  }

  async #nextSpare(old: Spare | undefined, sizeBytes: number): Promise<Spare | undefined> {
    if (old !== undefined && old.sizeBytes !== sizeBytes) await this.#drop(old.name);
    const name = `${sparePrefix}${this.#counter++}`;
    try {
      await this.#make(name, sizeBytes);
      return { sizeBytes, name };
    } catch (error) {
      this.#options.log.warn({ error, sizeBytes }, "could not make a disk ahead");
      await this.#drop(name);
      return undefined;
    }
  }

  async #make(name: string, sizeBytes: number): Promise<void> {
    const template = await this.#template(sizeBytes);
    const file = this.#file(name);
    await runCommand(["cp", "--sparse=always", "--reflink=auto", "--", template, file]);
    const target = this.folderOf(name);
    mkdirSync(target, { recursive: true, mode: 0o700 });
    const device = attachLoop(file);
    try {
      // Nothing on it outlives the pod, so nothing has to be written in order or for ever.
      const options = { noinit_itable: true, nobarrier: true, nodiscard: true } as const;
      mountFileSystem({ type: "ext4", source: device.path, target, flags: ["noSuid", "noDev"], options });
    } finally {
      closeSync(device.descriptor);
    }
  }

  /** An empty file system of this size; written once, copied for every disk. */
  async #template(sizeBytes: number): Promise<string> {
    const template = this.#file(`${templatePrefix}${sizeBytes}`);
    if (existsSync(template)) return template;
    const making = this.#file(`${templatePrefix}making-${this.#counter++}`);
    const features = ["-O", "^has_journal,^resize_inode", "-m", "0", "-i", String(bytesPerFile), "-E", "nodiscard,lazy_itable_init=1"];
    await runCommand(["mkfs.ext4", "-q", "-F", ...features, making, `${Math.ceil(sizeBytes / 1024)}k`], { install: installMkfs });
    renameSync(making, template);
    return template;
  }

  #rename(from: string, to: string): void {
    mkdirSync(this.folderOf(to), { recursive: true, mode: 0o700 });
    renameSync(this.#file(from), this.#file(to));
    moveMount(this.folderOf(from), this.folderOf(to));
    removeMountPoint(this.folderOf(from));
  }

  async #drop(name: string): Promise<void> {
    rmSync(this.#file(name), { force: true });
    await removeDiskMountPoint(this.folderOf(name));
  }

  #file(name: string): string {
    return join(this.#options.files, `${name}.img`);
  }

  #names(): string[] {
    return [...new Set([...readdirSync(this.#options.files).map((file) => basename(file, ".img")), ...readdirSync(this.#options.mounts)])];
  }
}
