/** Images leave room on the disk: sandboxes, the database and the machine itself live on it, too. */
import { type StatsFs, statfsSync } from "node:fs";
import { ImageError } from "../image-error.ts";

/** Unless the settings say otherwise: this share of the disk, and not more than so many bytes. */
const usualShare = 0.05;
const usualMostBytes = 10 * 1024 ** 3;
const inodeShare = 0.05;

export type DiskState = Pick<StatsFs, "bsize" | "blocks" | "bavail" | "files" | "ffree">;

/** What is missing; undefined while there is room. */
export function lackOfRoom(disk: DiskState, bytes: number, reserveBytes: number | undefined): string | undefined {
  const { bsize, blocks, bavail, files, ffree } = disk;
  const reserve = reserveBytes ?? Math.min(blocks * bsize * usualShare, usualMostBytes);
  const free = bavail * bsize;
  if (free - bytes < reserve)
    return `${megabytes(free)} MB are free, ${megabytes(bytes)} MB are needed and ${megabytes(reserve)} MB must stay free`;
  // Some file systems make inodes as they need them, and count none.
  return files > 0 && ffree < files * inodeShare ? `only ${ffree} of ${files} files can still be made` : undefined;
}

function megabytes(bytes: number): number {
  return Math.ceil(bytes / 1024 ** 2);
}

const stepBytes = 16 * 1024 ** 2;
const stepEntries = 1000;

/** Looks at the disk again after each few megabytes or files: others fill it, too. */
export class RoomWatch {
  readonly #folder: string;
  readonly #reserveBytes: number | undefined;
  #bytes = 0;
  #entries = 0;

  /** Throws if there is no room even for the `bytes` that are known to come. */
  constructor(folder: string, reserveBytes: number | undefined, bytes = 0) {
    this.#folder = folder;
    this.#reserveBytes = reserveBytes;
    this.#check(bytes);
  }

  /** Before so much is written. */
  take({ bytes = 0, entries = 0 }: { readonly bytes?: number; readonly entries?: number }): void {
    this.#bytes += bytes;
    this.#entries += entries;
    if (this.#bytes < stepBytes && this.#entries < stepEntries) return;
    this.#check(bytes);
    this.#bytes = 0;
    this.#entries = 0;
  }

  #check(bytes: number): void {
    const lack = lackOfRoom(statfsSync(this.#folder), bytes, this.#reserveBytes);
    if (lack === undefined) return;
    throw new ImageError("storage", `the disk of images is full: ${lack}; remove images (agentbox image gc) or make room`);
  }
}
