/** Unpacked layers by chain id, each in a folder that overlayfs takes as a lower directory. Unpacked once, shared by all. */
import { mkdir, readdir, readFile, rename, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Static, Type } from "typebox";
import { Limiter } from "#lib/limiter.ts";
import { type Digest, digestOf, hexOf, isDigest } from "../digest.ts";
import { parseJsonAs } from "../json-shape.ts";
import type { LayerLimits, Spent } from "../layer/limits.ts";
import { type OverlayMarks, probeMarks } from "../layer/overlay-marks.ts";
import type { UnpackOptions, UnpackThread } from "../layer/unpack-thread.ts";
import type { FileLocks } from "./locks.ts";
import type { Scratch } from "./scratch.ts";

export interface StoredLayer {
  readonly chainId: Digest;
  /** What it takes on the disk. */
  readonly bytes: number;
  /** Milliseconds since the epoch: when it came. */
  readonly since: number;
}

/** A compressed layer at a registry. */
export interface LayerOrigin {
  readonly registry: string;
  readonly blob: Digest;
}

export interface NewLayer {
  readonly chainId: Digest;
  readonly diffId: Digest;
  /** Path of the compressed layer. */
  readonly blob: string;
  /** What it was fetched as; undefined for what an admin imports. */
  readonly origin?: LayerOrigin | undefined;
  /** Chain ids of the layers below, topmost first. They must be here already. */
  readonly below: readonly Digest[];
  /** What it may unpack to. */
  readonly limits: LayerLimits;
  /** Bytes that it may unpack to if that is less, asked when its turn has come: other layers have taken room meanwhile. */
  readonly roomBytes?: (() => Promise<number>) | undefined;
}

export interface LayersDeps {
  readonly scratch: Scratch;
  readonly locks: FileLocks;
  /** How many are unpacked at once. */
  readonly concurrency: number;
}

const factsSchema = Type.Object({
  diffId: Type.String(),
  bytes: Type.Integer(),
  entries: Type.Integer(),
  /** Layers of earlier versions do not say it. */
  diskBytes: Type.Optional(Type.Integer()),
});

export class Layers {
  readonly #folder: string;
  readonly #deps: LayersDeps;
  readonly #limiter: Limiter;
  #marks: OverlayMarks | undefined;

  constructor(folder: string, deps: LayersDeps) {
    this.#folder = folder;
    this.#deps = deps;
    this.#limiter = new Limiter(deps.concurrency);
  }

  /** The folder for overlayfs. */
  pathOf(chainId: Digest): string {
    return join(this.#home(chainId), "fs");
  }

  async has(chainId: Digest): Promise<boolean> {
    return (await stat(this.#home(chainId)).catch(() => undefined)) !== undefined;
  }

  /**
   * Whether the layer is here and this registry has delivered it. Chain ids come from configs, and every tenant can write a config: it must
   * not be possible to get a layer of a private image by writing down its id.
   */
  async isFrom(chainId: Digest, origin: LayerOrigin | undefined): Promise<boolean> {
    if (!(await this.has(chainId))) return false;
    return origin === undefined || (await stat(this.#note(chainId, origin)).catch(() => undefined)) !== undefined;
  }

  /** Unpacks the layer unless it is here; then its blob is only checked. When two want the same one, one works and the other waits. */
  async ensure(layer: NewLayer, thread: UnpackThread, options: UnpackOptions): Promise<void> {
    const { chainId, origin } = layer;
    if (await this.isFrom(chainId, origin)) return;
    const work = async (): Promise<void> => {
      if (!(await this.isFrom(chainId, origin))) await this.#limiter.run(() => this.#add(layer, thread, options));
    };
    await this.#deps.locks.holding(`layer-${hexOf(layer.chainId)}`, "exclusive", work, options.signal);
  }

  /** Gives a folder that is a layer already its place, unless the layer is here. */
  async adopt(chainId: Digest, draft: string, facts: Static<typeof factsSchema>): Promise<void> {
    const work = async (): Promise<void> => {
      if (await this.has(chainId)) return;
      await this.#deps.scratch.writeFile(join(draft, "layer.json"), JSON.stringify(facts));
      await rename(draft, this.#home(chainId));
    };
    await this.#deps.locks.holding(`layer-${hexOf(chainId)}`, "exclusive", work);
  }

  async list(): Promise<StoredLayer[]> {
    const layers: StoredLayer[] = [];
    for (const hex of await readdir(this.#folder)) {
      const chainId: Digest = `sha256:${hex}`;
      const facts = isDigest(chainId) ? await this.#facts(chainId) : undefined;
      if (facts !== undefined) layers.push({ chainId, bytes: facts.bytes, since: facts.since });
    }
    return layers;
  }

  remove(chainId: Digest): Promise<void> {
    return this.#deps.scratch.remove(this.#home(chainId));
  }

  #home(chainId: Digest): string {
    return join(this.#folder, hexOf(chainId));
  }

  async #add(layer: NewLayer, thread: UnpackThread, options: UnpackOptions): Promise<void> {
    const { chainId, diffId, blob, origin, roomBytes } = layer;
    const room = Math.max(0, (await roomBytes?.()) ?? Infinity);
    const limits = { ...layer.limits, maxBytes: Math.min(layer.limits.maxBytes, room) };
    if (await this.has(chainId)) await thread.unpack({ blob, diffId, limits: layer.limits }, options);
    else await this.#unpack({ ...layer, limits }, thread, options);
    if (origin === undefined) return;
    const note = this.#note(chainId, origin);
    await mkdir(dirname(note), { recursive: true });
    await this.#deps.scratch.writeFile(note, JSON.stringify(origin));
  }

  #note(chainId: Digest, { registry, blob }: LayerOrigin): string {
    return join(this.#home(chainId), "from", hexOf(digestOf(JSON.stringify([registry, blob]))));
  }

  async #unpack({ chainId, diffId, blob, below, limits }: NewLayer, thread: UnpackThread, options: UnpackOptions): Promise<void> {
    const { scratch } = this.#deps;
    const draft = scratch.newPath();
    await mkdir(join(draft, "fs"), { recursive: true });
    try {
      this.#marks ??= probeMarks(draft);
      const lowers = below.map((id) => this.pathOf(id));
      const unpacked = await thread.unpack({ blob, diffId, folder: join(draft, "fs"), lowers, marks: this.#marks, limits }, options);
      await scratch.writeFile(join(draft, "layer.json"), JSON.stringify({ diffId, ...unpacked }));
      await rename(draft, this.#home(chainId));
    } finally {
      await scratch.remove(draft);
    }
  }

  /** What it takes on the disk; nothing if it is not here. */
  async diskBytes(chainId: Digest): Promise<number> {
    return (await this.#facts(chainId))?.bytes ?? 0;
  }

  /** What it counts for the limits of an image; nothing if it is not here. */
  async spent(chainId: Digest): Promise<Spent> {
    const { unpackedBytes: bytes, entries } = (await this.#facts(chainId)) ?? { unpackedBytes: 0, entries: 0 };
    return { bytes, entries };
  }

  async #facts(chainId: Digest): Promise<(Omit<StoredLayer, "chainId"> & { unpackedBytes: number; entries: number }) | undefined> {
    const path = join(this.#home(chainId), "layer.json");
    try {
      const [text, { mtimeMs }] = await Promise.all([readFile(path), stat(path)]);
      const { bytes, diskBytes = bytes, entries } = parseJsonAs(factsSchema, text, path);
      return { bytes: diskBytes, since: mtimeMs, unpackedBytes: bytes, entries };
    } catch {
      // Removed while we looked.
      return undefined;
    }
  }
}
