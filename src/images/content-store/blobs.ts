/** Content by its digest: manifests, configs, compressed layers. What is here is whole and was checked when it came. */
import { mkdir, readFile, readdir, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Digest, digestOf, hexOf, isDigest } from "../digest.ts";
import { ImageError } from "../image-error.ts";
import { RoomWatch } from "../layer/disk-room.ts";
import { BlobWriter } from "./blob-writer.ts";
import type { Scratch } from "./scratch.ts";

export interface StoredBlob {
  readonly digest: Digest;
  readonly size: number;
  /** Milliseconds since the epoch: when it came. */
  readonly since: number;
}

export class Blobs {
  readonly #folder: string;
  readonly #scratch: Scratch;
  readonly #reserveBytes: number | undefined;

  constructor(folder: string, { scratch, reserveBytes }: { readonly scratch: Scratch; readonly reserveBytes?: number | undefined }) {
    this.#folder = folder;
    this.#scratch = scratch;
    this.#reserveBytes = reserveBytes;
  }

  pathOf(digest: Digest): string {
    return join(this.#folder, hexOf(digest));
  }

  /** The size of a blob; undefined if it is not here. */
  async size(digest: Digest): Promise<number | undefined> {
    return (await stat(this.pathOf(digest)).catch(() => undefined))?.size;
  }

  async has(digest: Digest): Promise<boolean> {
    return (await this.size(digest)) !== undefined;
  }

  /** A blob that is read whole: manifests and configs. Undefined if it is not here, or is no longer what it was. */
  async read(digest: Digest): Promise<Buffer | undefined> {
    const content = await readFile(this.pathOf(digest)).catch(() => undefined);
    return content !== undefined && digestOf(content) === digest ? content : undefined;
  }

  /** As `read`, for what must be here. */
  async require(digest: Digest, what: string): Promise<Buffer> {
    const content = await this.read(digest);
    if (content === undefined) throw new ImageError("broken_content", `${what} (${digest}) is not in the store`);
    return content;
  }

  async put(content: Buffer): Promise<Digest> {
    const digest = digestOf(content);
    await this.#scratch.writeFile(this.pathOf(digest), content);
    return digest;
  }

  /** For content that comes bit by bit, of so many bytes if that is known. Fails when the disk would be too full for it. */
  async write(bytes = 0): Promise<BlobWriter> {
    const room = new RoomWatch(this.#folder, this.#reserveBytes, bytes);
    return BlobWriter.open(this.#scratch.newPath(), (draft, digest) => rename(draft, this.pathOf(digest)), room);
  }

  /** Whether this registry has delivered the blob. That it is here is no proof: a tenant may know its name and still have no right to read it. */
  async isFrom(registry: string, digest: Digest): Promise<boolean> {
    return (await stat(join(this.#origins(digest), hexOf(digestOf(registry)))).catch(() => undefined)) !== undefined;
  }

  async noteFrom(registry: string, digest: Digest): Promise<void> {
    await mkdir(this.#origins(digest), { recursive: true });
    await this.#scratch.writeFile(join(this.#origins(digest), hexOf(digestOf(registry))), registry);
  }

  async remove(digest: Digest): Promise<void> {
    await this.#scratch.remove(this.pathOf(digest));
    await this.#scratch.remove(this.#origins(digest));
  }

  #origins(digest: Digest): string {
    return join(`${this.#folder}-from`, hexOf(digest));
  }

  async list(): Promise<StoredBlob[]> {
    const blobs: StoredBlob[] = [];
    for (const hex of await readdir(this.#folder)) {
      const digest: Digest = `sha256:${hex}`;
      const found = isDigest(digest) ? await stat(this.pathOf(digest)).catch(() => undefined) : undefined;
      if (found !== undefined) blobs.push({ digest, size: found.size, since: found.mtimeMs });
    }
    return blobs;
  }
}
