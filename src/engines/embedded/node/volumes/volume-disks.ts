/**
 * Where volumes are: one file each, sparse, with an ext4 file system in it, so that its size holds whatever is written. It is mounted when it is first
 * used, and stays mounted as long as the machine runs: sandboxes get copies of that mount, each seen through the ids of its own slot.
 *
 * The files do not lie in the node's folder: `agentbox down` removes that, and volumes stay.
 *
 * - `mount-inside.ts`   mounts into containers that run; `mount-thread.ts` the thread that does it
 * - `volume-files.ts`   the files in a volume, for the API; `inside-volume.ts` how a path in it is opened
 */
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { VolumeFileError } from "#engine-port/volumes.ts";
import { attachLoop } from "#engines/embedded/node/linux/loop-device.ts";
import { mountOf, mountTable } from "#engines/embedded/node/linux/mount-table.ts";
import { mountFileSystem, removeDiskMountPoint } from "#engines/embedded/node/linux/mounts.ts";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import { checkName } from "#engines/embedded/node/node-paths.ts";
import { SerialByKey } from "#engines/embedded/node/pods/serial-by-key.ts";
import { bytesPerFile } from "#engines/embedded/node/rootfs/disks/memory-disks.ts";
import { findCommand } from "#engines/embedded/node/runtime/find-command.ts";

export interface VolumeFolders {
  /** For the files: on a file system with room. */
  readonly files: string;
  /** For the places where they are mounted: below a private mount. */
  readonly mounts: string;
}

/** False on a machine without loop devices, or without mkfs.ext4: a folder has no size. */
export function canKeepVolumes(): boolean {
  return existsSync("/dev/loop-control") && findCommand("mkfs.ext4") !== undefined;
}

const making = ".making";

export class VolumeDisks {
  readonly #folders: VolumeFolders;
  readonly #serial = new SerialByKey();

  constructor(folders: VolumeFolders) {
    this.#folders = folders;
    mkdirSync(folders.mounts, { recursive: true, mode: 0o700 });
    if (!existsSync(folders.files)) return;
    // What was being made when a process died: it is made again from the start.
    for (const name of readdirSync(folders.files).filter((file) => file.endsWith(making)))
      rmSync(join(folders.files, name), { force: true });
  }

  /** May be repeated: a volume that is there stays as it is. */
  make(uid: string, sizeBytes: number): Promise<void> {
    return this.#alone(uid, async () => {
      mkdirSync(this.#folders.files, { recursive: true, mode: 0o700 });
      const file = this.#file(uid);
      if (!existsSync(file)) await makeFile(file, sizeBytes);
      const folder = this.#mounted(uid);
      // Programs of any user may write, as everywhere where a volume is first mounted.
      chmodSync(folder, 0o777);
      rmSync(join(folder, "lost+found"), { recursive: true, force: true });
    });
  }

  /** The folder of a volume that is there. Throws VolumeFileError `missing`. */
  open(uid: string): Promise<string> {
    return this.#alone(uid, async () => this.#mounted(uid));
  }

  /** Its room is free when the last sandbox that has it mounted is gone. May be repeated. */
  remove(uid: string): Promise<void> {
    return this.#alone(uid, async () => {
      rmSync(this.#file(uid), { force: true });
      await removeDiskMountPoint(this.#folder(uid));
    });
  }

  /** Undefined for a volume that has not been used since the machine started. */
  async usedBytes(uid: string): Promise<number | undefined> {
    checkName(uid, "the uid of a volume");
    if (!this.#isMounted(uid)) return undefined;
    const { blocks, bfree, bsize } = statfsSync(this.#folder(uid));
    return (blocks - bfree) * bsize;
  }

  #alone<T>(uid: string, work: () => Promise<T>): Promise<T> {
    checkName(uid, "the uid of a volume");
    return this.#serial.run(uid, work);
  }

  #mounted(uid: string): string {
    const [file, folder] = [this.#file(uid), this.#folder(uid)];
    if (!existsSync(file)) throw new VolumeFileError("missing", `the data of the volume is not on this machine (${uid})`);
    if (this.#isMounted(uid)) return folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const device = deviceOf(file);
    try {
      const options = { noinit_itable: true, discard: true } as const;
      mountFileSystem({ type: "ext4", source: device.path, target: folder, flags: ["noSuid", "noDev"], options });
    } finally {
      closeSync(device.descriptor);
    }
    return folder;
  }

  #isMounted(uid: string): boolean {
    const folder = this.#folder(uid);
    return mountOf(folder, mountTable())?.target === folder;
  }

  #file(uid: string): string {
    return join(this.#folders.files, `${uid}.img`);
  }

  #folder(uid: string): string {
    return join(this.#folders.mounts, uid);
  }
}

async function makeFile(file: string, sizeBytes: number): Promise<void> {
  const unfinished = `${file}${making}`;
  rmSync(unfinished, { force: true });
  const inodes = ["-m", "0", "-i", String(bytesPerFile), "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1"];
  await runCommand(["mkfs.ext4", "-q", "-F", ...inodes, unfinished, `${Math.ceil(sizeBytes / 1024)}k`], {
    install: "apt-get install e2fsprogs",
  });
  renameSync(unfinished, file);
}

/**
 * A loop device of the file. One that a sandbox still holds is used again: two devices of one file would be two file systems that do not know of each
 * other, and destroy it.
 */
function deviceOf(file: string): { readonly path: string; readonly descriptor: number } {
  for (const name of readdirSync("/sys/block").filter((device) => device.startsWith("loop"))) {
    const path = `/dev/${name}`;
    if (backingFile(name) === file) return { path, descriptor: openSync(path, "r+") };
  }
  return attachLoop(file);
}

function backingFile(loop: string): string | undefined {
  try {
    return readFileSync(`/sys/block/${loop}/loop/backing_file`, "utf8").trimEnd();
  } catch {
    return undefined;
  }
}
