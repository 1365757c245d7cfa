/** Which images are here: a small file for each name. When an image was last used is the time of its file. */
import { readdir, readFile, stat, utimes } from "node:fs/promises";
import { basename, join } from "node:path";
import { Type } from "typebox";
import { type Digest, digestOf, hexOf, parseDigest } from "../digest.ts";
import { parseJsonAs } from "../json-shape.ts";
import { canonicalName, type ImageReference, parseReference, repositoryName } from "../reference.ts";
import type { Scratch } from "./scratch.ts";

/** registry: pulled. import: brought by an admin. checkpoint: taken from a sandbox (images/checkpoint). */
export type ImageSource = "registry" | "import" | "checkpoint";

export interface ImageRecord {
  /** Canonical: repository with tag, or with digest when no tag points to it (any more). */
  readonly name: string;
  /** By which the registry knows it: of the index if there is one. */
  readonly digest: Digest;
  /** Of the manifest for this machine's platform. */
  readonly manifest: Digest;
  /** Of the config. */
  readonly id: Digest;
  /** What cannot be fetched again is never thrown away without being asked to. */
  readonly source: ImageSource;
  /** Of a checkpoint: the team whose pods may have it; left out: every pod. */
  readonly team?: string | undefined;
  /** Milliseconds since the epoch: when it came. */
  readonly since: number;
  /** Identities (registry/pull-secret.ts) that the registry has shown it to. */
  readonly shownTo?: readonly string[] | undefined;
}

export interface StoredImage extends ImageRecord {
  readonly lastUsed: number;
}

const recordSchema = Type.Object({
  name: Type.String(),
  digest: Type.String(),
  manifest: Type.String(),
  id: Type.String(),
  source: Type.Union([Type.Literal("registry"), Type.Literal("import"), Type.Literal("checkpoint")]),
  team: Type.Optional(Type.String()),
  since: Type.Number(),
  shownTo: Type.Optional(Type.Array(Type.String())),
});

/** True for what no registry has, so that nothing can fetch it again. */
export function isOnlyHere({ source }: Pick<ImageRecord, "source">): boolean {
  return source !== "registry";
}

/** So many identities are kept for one image; the oldest are dropped. For one that is not kept the registry is asked again. */
const maxShownTo = 100;

export class ImageRecords {
  readonly #folder: string;
  readonly #scratch: Scratch;

  constructor(folder: string, scratch: Scratch) {
    this.#folder = folder;
    this.#scratch = scratch;
  }

  /** The image of this reference. One with a digest is found under any tag of its repository. */
  async find(reference: ImageReference): Promise<StoredImage | undefined> {
    const exact = await this.#read(this.#path(canonicalName(reference)));
    const { digest } = reference;
    if (exact !== undefined || digest === undefined) return exact;
    const repository = repositoryName(reference);
    const all = await this.list();
    return all.find(
      (image) => (image.digest === digest || image.manifest === digest) && repositoryName(parseReference(image.name)) === repository,
    );
  }

  async list(): Promise<StoredImage[]> {
    const names = await readdir(this.#folder);
    const images = await Promise.all(names.map((name) => this.#read(join(this.#folder, name))));
    return images.filter((image) => image !== undefined).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Lets the name mean this image. What it meant before stays, by its digest: something may still run it. */
  async put(record: ImageRecord): Promise<void> {
    const before = await this.#read(this.#path(record.name));
    if (before !== undefined && before.digest !== record.digest) {
      const { lastUsed: _, ...old } = before;
      const name = canonicalName({ ...parseReference(before.name), digest: before.digest });
      await this.#scratch.writeFile(this.#path(name), JSON.stringify({ ...old, name }));
    }
    const known = before?.digest === record.digest ? (before.shownTo ?? []) : [];
    const shownTo = [...new Set([...known, ...(record.shownTo ?? [])])].slice(-maxShownTo);
    await this.#scratch.writeFile(this.#path(record.name), JSON.stringify({ ...record, shownTo }));
    await this.touch(record.name, record.since);
  }

  async remove(name: string): Promise<void> {
    await this.#scratch.remove(this.#path(name));
  }

  async touch(name: string, now: number): Promise<void> {
    // Gone in the meantime is as good.
    await utimes(this.#path(name), now / 1000, now / 1000).catch(() => undefined);
  }

  /** Where the record of a name is, relative to the store's folder. */
  fileOf(name: string): string {
    return join(basename(this.#folder), basename(this.#path(name)));
  }

  #path(name: string): string {
    return join(this.#folder, `${hexOf(digestOf(name))}.json`);
  }

  async #read(path: string): Promise<StoredImage | undefined> {
    const [text, found] = await Promise.all([readFile(path).catch(() => undefined), stat(path).catch(() => undefined)]);
    if (text === undefined || found === undefined) return undefined;
    const json = parseJsonAs(recordSchema, text, path);
    return {
      ...json,
      digest: parseDigest(json.digest, path),
      manifest: parseDigest(json.manifest, path),
      id: parseDigest(json.id, path),
      lastUsed: found.mtimeMs,
    };
  }
}
