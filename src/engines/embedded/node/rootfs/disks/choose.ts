import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "#lib/log.ts";
import type { NodePaths } from "#engines/embedded/node/node-paths.ts";
import { findCommand } from "#engines/embedded/node/runtime/find-command.ts";
import type { Trash } from "../trash.ts";
import { LoopDisks } from "./loop-disks.ts";
import { MemoryDisks } from "./memory-disks.ts";
import { PlainDisks } from "./plain-disks.ts";
import type { DiskKind, PodDisks } from "./pod-disks.ts";

export interface DiskOptions {
  /** How the sizes of disks are kept; without it the best that this machine can do. */
  readonly kind?: DiskKind | undefined;
  readonly paths: NodePaths;
  readonly trash: Trash;
  readonly log: Logger;
}

/** All kinds of disks, because pods of an earlier life may have another kind than new ones get. */
export class Disks {
  readonly kind: DiskKind;
  readonly #kinds: Readonly<Record<DiskKind, PodDisks>>;

  constructor({ kind, paths, trash, log }: DiskOptions) {
    this.kind = kind ?? bestKind();
    this.#kinds = {
      none: new PlainDisks(join(paths.disks, "folders"), trash),
      loop: new LoopDisks({ files: join(paths.disks, "files"), mounts: join(paths.run, "disks"), log }),
      tmpfs: new MemoryDisks(join(paths.run, "memory-disks")),
    };
  }

  /** What a pod gets: without a limit there is nothing to keep. */
  kindFor(sizeBytes: number | undefined): DiskKind {
    return sizeBytes === undefined ? "none" : this.kind;
  }

  of(kind: DiskKind): PodDisks {
    return this.#kinds[kind];
  }

  all(): PodDisks[] {
    return Object.values(this.#kinds);
  }

  async close(): Promise<void> {
    await Promise.all(this.all().map((disks) => disks.close()));
  }
}

function bestKind(): DiskKind {
  return existsSync("/dev/loop-control") && findCommand("mkfs.ext4") !== undefined ? "loop" : "none";
}
