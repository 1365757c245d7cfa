/** Unpacked layers by chain id, each in a folder that overlayfs takes as a lower directory. Unpacked once, shared by all. */
import { mkdir, readdir, readFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { Type } from "typebox";
import { Limiter } from "#lib/limiter.ts";
import { type Digest, hexOf, isDigest } from "../digest.ts";
import { parseJsonAs } from "../json-shape.ts";
import type { LayerLimits } from "../layer/limits.ts";
import { type OverlayMarks, probeMarks } from "../layer/overlay-marks.ts";
import type { UnpackOptions, UnpackThread } from "../layer/unpack-thread.ts";
import type { FileLocks } from "./locks.ts";
import type { Scratch } from "./scratch.ts";

export interface StoredLayer {
  readonly chainId: Digest;
  /** Uncompressed size of its archive. */
  readonly bytes: number;
  /** Milliseconds since the epoch: when it came. */
  readonly since: number;
}

export interface NewLayer {
  readonly chainId: Digest;
  readonly diffId: Digest;
  /** Path of the compressed layer. */
  readonly blob: string;
  /** Chain ids of the layers below, topmost first. They must be here already. */
  readonly below: readonly Digest[];
}

export interface LayersDeps {
  readonly scratch: Scratch;
  readonly locks: FileLocks;
  readonly limits: LayerLimits;
  /** How many are unpacked at once. */
  readonly concurrency: number;
}

const factsSchema = Type.Object({ diffId: Type.String(), bytes: Type.Integer(), entries: Type.Integer() });

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

  /** Unpacks the layer unless it is here. When two want the same one, one works and the other waits. */
  async ensure(layer: NewLayer, thread: UnpackThread, options: UnpackOptions): Promise<void> {
    if (await this.has(layer.chainId)) return;
    const work = async (): Promise<void> => {
      if (!(await this.has(layer.chainId))) await this.#limiter.run(() => this.#unpack(layer, thread, options));
    };
    await this.#deps.locks.holding(`layer-${hexOf(layer.chainId)}`, "exclusive", work, options.signal);
  }

  async list(): Promise<StoredLayer[]> {
    const layers: StoredLayer[] = [];
    for (const hex of await readdir(this.#folder)) {
      const chainId: Digest = `sha256:${hex}`;
      const facts = isDigest(chainId) ? await this.#facts(chainId) : undefined;
      if (facts !== undefined) layers.push({ chainId, ...facts });
    }
    return layers;
  }

  remove(chainId: Digest): Promise<void> {
    return this.#deps.scratch.remove(this.#home(chainId));
  }

  #home(chainId: Digest): string {
    return join(this.#folder, hexOf(chainId));
  }

  async #unpack({ chainId, diffId, blob, below }: NewLayer, thread: UnpackThread, options: UnpackOptions): Promise<void> {
    const { scratch, limits } = this.#deps;
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

  async #facts(chainId: Digest): Promise<Omit<StoredLayer, "chainId"> | undefined> {
    const path = join(this.#home(chainId), "layer.json");
    try {
      const [text, { mtimeMs }] = await Promise.all([readFile(path), stat(path)]);
      return { bytes: parseJsonAs(factsSchema, text, path).bytes, since: mtimeMs };
    } catch {
      // Removed while we looked.
      return undefined;
    }
  }
}
