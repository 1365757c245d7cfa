/**
 * Where volumes are: their data on the engine, and the files in them while no sandbox runs. Part of the engine port; `abilities.volumes()` says whether
 * an engine has them at all.
 *
 * A volume is named by the uid of its object. What every engine promises:
 * - V1 `make` may be repeated; after it the volume is there and empty, or as it was. `remove` may be repeated; after it nothing is left, and the room is free
 *   as soon as the last sandbox that has it mounted is gone.
 * - V2 A volume that is not there is an error of each operation, and is never made by one.
 * - V3 No path, no name and no link in a volume leads out of it. Links are followed below the volume as if it were the root.
 */
import type { Readable } from "node:stream";

export interface Volumes {
  make(uid: string, sizeBytes: number): Promise<void>;
  remove(uid: string): Promise<void>;
  /** What its files take of its size; undefined where that is not known now. */
  usedBytes(uid: string): Promise<number | undefined>;
  readonly files: VolumeFiles;
}

/** Paths are absolute below the volume: `/` is the volume itself. Throws VolumeFileError. */
export interface VolumeFiles {
  /** Links are not followed at the end of the path. */
  stat(uid: string, path: string): Promise<VolumeEntry>;
  /** What is in a folder, by name, and so many levels below; throws `too_many` for more than `most`. */
  list(uid: string, path: string, wanted: { readonly depth: number; readonly most: number }): Promise<readonly VolumeEntry[]>;
  /** `force`: with the folders above it, and also if it is there. */
  makeFolder(uid: string, path: string, wanted: Attributes & { readonly force: boolean }): Promise<VolumeEntry>;
  read(uid: string, path: string): Promise<{ readonly sizeBytes: number; readonly content: Readable }>;
  /** All of it or nothing: the file has its name when it is whole. `replace`: instead of one that is there. */
  write(
    uid: string,
    path: string,
    content: AsyncIterable<Uint8Array>,
    wanted: Attributes & { readonly replace: boolean },
  ): Promise<VolumeEntry>;
  change(uid: string, path: string, wanted: Attributes): Promise<VolumeEntry>;
  /** A folder with all that is in it. */
  remove(uid: string, path: string): Promise<void>;
}

/** Owners as they are inside sandboxes. */
export interface Attributes {
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
  readonly mode?: number | undefined;
}

export interface VolumeEntry extends Required<Attributes> {
  readonly name: string;
  readonly path: string;
  readonly type: "file" | "directory" | "symlink" | "unknown";
  readonly sizeBytes: number;
  readonly accessedAt: Date;
  readonly modifiedAt: Date;
  readonly changedAt: Date;
  /** Of a symlink. */
  readonly target?: string;
}

/** `not_found`: no such path. `missing`: the volume itself has no data. `busy`: what is there is something else, or in the way. */
export type VolumeFailure = "not_found" | "missing" | "invalid" | "busy" | "no_space" | "too_many";

export class VolumeFileError extends Error {
  override readonly name = "VolumeFileError";
  readonly failure: VolumeFailure;

  constructor(failure: VolumeFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}
