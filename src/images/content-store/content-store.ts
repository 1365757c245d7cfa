/**
 * Images on disk, shared by all processes of this machine. Everything comes into its place by one rename.
 *
 * - blobs.ts, blob-writer.ts: `blobs/`, content by digest; `blobs-from/`, which registries delivered it
 * - layers.ts: `layers/`, unpacked, by chain id
 * - image-records.ts: `names/`, which image is here under which name
 * - holds.ts: `holds/`, which images other processes use; team-shares.ts: `teams/`, which team fetched which image
 * - image-parts.ts: what an image consists of, and whether it is all here; collect-garbage.ts: deletes unused images
 * - imported-parts.ts: where images are that no registry has
 * - scratch.ts: `tmp/`; locks.ts: `locks/`
 *
 * The folder belongs to root alone: layers hold setuid programs, and other users of the machine must not reach them.
 */
import { chmod, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "#lib/clock.ts";
import { ImageError } from "../image-error.ts";
import { defaultLimits, type LayerLimits } from "../layer/limits.ts";
import { Blobs } from "./blobs.ts";
import { Holds } from "./holds.ts";
import { ImageRecords } from "./image-records.ts";
import { Layers } from "./layers.ts";
import { FileLocks } from "./locks.ts";
import { Scratch } from "./scratch.ts";
import { TeamShares } from "./team-shares.ts";

export interface ContentStoreOptions {
  readonly folder: string;
  readonly clock: Clock;
  readonly limits?: LayerLimits;
  /** How many layers are unpacked at once. */
  readonly unpackConcurrency?: number;
}

/** Of the layout on disk. */
const version = "1";

export class ContentStore implements AsyncDisposable {
  readonly folder: string;
  readonly clock: Clock;
  readonly limits: LayerLimits;
  readonly blobs: Blobs;
  readonly layers: Layers;
  readonly images: ImageRecords;
  readonly holds: Holds;
  readonly shares: TeamShares;
  readonly locks: FileLocks;
  readonly #scratch: Scratch;

  private constructor(options: ContentStoreOptions, scratch: Scratch) {
    const { folder, clock, limits = defaultLimits, unpackConcurrency = 2 } = options;
    this.folder = folder;
    this.clock = clock;
    this.limits = limits;
    this.#scratch = scratch;
    this.locks = new FileLocks(join(folder, "locks"), clock);
    this.blobs = new Blobs(join(folder, "blobs"), { scratch, reserveBytes: limits.reserveBytes });
    this.layers = new Layers(join(folder, "layers"), { scratch, locks: this.locks, concurrency: unpackConcurrency });
    this.images = new ImageRecords(join(folder, "names"), scratch);
    this.holds = new Holds(join(folder, "holds"), scratch);
    this.shares = new TeamShares(join(folder, "teams"), { scratch, blobs: this.blobs, layers: this.layers });
  }

  /** Opens the store, makes it if it is not there, and removes what processes that died have left half-made. */
  static async open(options: ContentStoreOptions): Promise<ContentStore> {
    const { folder, clock } = options;
    try {
      await mkdir(folder, { recursive: true });
      await chmod(folder, 0o700);
      for (const part of ["blobs", "layers", "names", "holds", "tmp"]) await mkdir(join(folder, part), { recursive: true });
      const scratch = await Scratch.open(join(folder, "tmp"), clock);
      await checkVersion(folder, scratch);
      return new ContentStore(options, scratch);
    } catch (error) {
      if (error instanceof ImageError) throw error;
      throw new ImageError("storage", `the image store ${folder} cannot be opened: ${(error as Error).message}`, { cause: error });
    }
  }

  /** Gives `work` the path of a folder that is to be made, on the disk of the layers; what is left there afterwards is removed. */
  async drafting<T>(work: (folder: string) => Promise<T>): Promise<T> {
    const draft = this.#scratch.newPath();
    try {
      return await work(draft);
    } finally {
      await this.#scratch.remove(draft);
    }
  }

  /** Keeps the garbage collection of all processes away: what is being put together looks unused until its name is written. */
  adding<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.locks.holding("store", "shared", work, signal).catch((error: unknown) => {
      throw storageError(error, this.folder);
    });
  }

  /** Waits until no process adds content, and keeps processes from adding any until `work` is done. */
  collecting<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.locks.holding("store", "exclusive", work, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scratch[Symbol.asyncDispose]();
  }
}

/** What the disk refused, in our words; other errors as they are. */
function storageError(error: unknown, folder: string): unknown {
  if (!(error instanceof Error) || !("syscall" in error)) return error;
  return new ImageError("storage", `the image store ${folder} failed: ${error.message}`, { cause: error });
}

async function checkVersion(folder: string, scratch: Scratch): Promise<void> {
  const path = join(folder, "version");
  const found = await readFile(path, "utf8").catch(() => undefined);
  if (found === undefined) await scratch.writeFile(path, version);
  else if (found !== version) {
    await scratch[Symbol.asyncDispose]();
    throw new ImageError("storage", `the image store ${folder} has layout ${found}; this AgentBox reads layout ${version}`);
  }
}
