/**
 * Images from files instead of a registry.
 *
 * - archive-files.ts: a tar, seen as files by name (image-files.ts), as a folder is
 * - oci-layout.ts: the images of an OCI layout; those of a Docker archive are found here
 * - import-rootfs.ts: a folder with a root file system becomes an image of one layer
 */
import { createReadStream } from "node:fs";
import { stat, readFile } from "node:fs/promises";
import { addLayers } from "#images/add-layers.ts";
import type { ContentStore } from "#images/content-store/content-store.ts";
import { partsOf } from "#images/content-store/image-parts.ts";
import type { ImageRecord } from "#images/content-store/image-records.ts";
import type { Digest } from "#images/digest.ts";
import { ImageError } from "#images/image-error.ts";
import { parseConfig } from "#images/image-config.ts";
import type { Platform } from "#images/platform.ts";
import type { OnProgress } from "#images/progress.ts";
import { canonicalName, parseReference } from "#images/reference.ts";
import { readArchive } from "./archive-files.ts";
import { type FoundImage, type ImageFiles, dockerManifestFile, promisedDigest, type StoredFile } from "./image-files.ts";
import { findOciImages } from "./oci-layout.ts";
import { Type } from "typebox";
import { parseJsonAs } from "#images/json-shape.ts";
import { type Descriptor, type ImageManifest, mediaTypes, writeManifest } from "#images/manifest.ts";
import { join } from "node:path";

export interface ImportOptions {
  readonly platform: Platform;
  /** What to call the image, if it does not say so itself or should be called otherwise. */
  readonly name?: string | undefined;
  readonly onProgress?: OnProgress | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Imports all images of an archive (path, or a stream of its bytes) or of a folder in OCI's layout. */
export function importImages(store: ContentStore, source: string | AsyncIterable<Buffer>, options: ImportOptions): Promise<ImageRecord[]> {
  const work = async (): Promise<ImageRecord[]> => {
    const files = await openFiles(store, source, options.signal);
    const readBlob = async (name: string): Promise<Buffer> => {
      const stored = await files.store(name);
      if (stored === undefined) throw new ImageError("broken_content", `${name} is spoken of, but not there`);
      return store.blobs.require(stored.digest, name);
    };
    const found = (await findOciImages(files, readBlob, options.platform)) ?? (await findDockerImages(store, files));
    if (found === undefined || found.length === 0) {
      throw new ImageError(
        "broken_content",
        "this is no image: there is neither an index.json (OCI layout) nor a manifest.json (docker save) with an image in it",
      );
    }
    const records: ImageRecord[] = [];
    for (const image of found)
      records.push(...(await add(store, files, { image, names: namesFor(image, found.length, options.name) }, options)));
    return records;
  };
  return store.adding(work, options.signal);
}

async function openFiles(
  store: ContentStore,
  source: string | AsyncIterable<Buffer>,
  signal: AbortSignal | undefined,
): Promise<ImageFiles> {
  if (typeof source !== "string") return readArchive(store, untilAborted(source, signal));
  const found = await stat(source).catch(() => undefined);
  if (found === undefined) throw new ImageError("not_found", `${source} does not exist`);
  if (found.isDirectory()) return folderFiles(store, source);
  return readArchive(store, untilAborted(createReadStream(source, { highWaterMark: 256 * 1024 }), signal));
}

async function* untilAborted(source: AsyncIterable<Buffer>, signal: AbortSignal | undefined): AsyncGenerator<Buffer, void> {
  for await (const chunk of source) {
    signal?.throwIfAborted();
    yield chunk;
  }
}

function namesFor({ names, tag, digest }: FoundImage, count: number, wanted: string | undefined): string[] {
  if (wanted !== undefined && count > 1) {
    throw new ImageError("invalid_reference", `there are ${count} images in it, which cannot all be called ${wanted}; leave the name out`);
  }
  if (wanted === undefined && names.length === 0) {
    throw new ImageError("invalid_reference", `the image ${digest} does not say what it is called; give it a name`);
  }
  const chosen = wanted === undefined ? names : [withTag(wanted, tag)];
  return chosen.map((name) => localName(name));
}

/** The tag that the image brings, unless the name has one. */
function withTag(name: string, tag: string | undefined): string {
  const hasTag = /:[^/]*$/.test(name);
  return tag === undefined || hasTag ? name : `${name}:${tag}`;
}

/** The name under which something of ours is kept. */
export function localName(name: string): string {
  const reference = parseReference(name);
  if (reference.kind === "host") throw new ImageError("invalid_reference", "host is the machine itself; call the image something else");
  if (reference.digest !== undefined)
    throw new ImageError("invalid_reference", `${JSON.stringify(name)} has a digest; an image that is imported gets its own`);
  return canonicalName(reference);
}

interface NamedImage {
  readonly image: FoundImage;
  readonly names: readonly string[];
}

async function add(store: ContentStore, files: ImageFiles, { image, names }: NamedImage, options: ImportOptions): Promise<ImageRecord[]> {
  const { manifest, fileOf } = image;
  const what = names[0] ?? image.digest;
  const bring = async (digest: Digest): Promise<void> => {
    if (fileOf !== undefined && (await files.store(fileOf(digest))) === undefined) {
      throw new ImageError("broken_content", `${what}: the blob ${digest} is not there`);
    }
  };
  await bring(manifest.config.digest);
  const config = parseConfig(await store.blobs.require(manifest.config.digest, `the config of ${what}`), `the config of ${what}`);
  await addLayers(store, partsOf(manifest.layers, config, what).layers, { ...options, fetch: (blob) => bring(blob.digest) });
  const records = names.map((name): ImageRecord => ({
    name,
    digest: image.digest,
    manifest: image.manifestDigest,
    id: manifest.config.digest,
    source: "import",
    since: store.clock.now(),
  }));
  for (const record of records) await store.images.put(record);
  return records;
}

/** Images in the older form of `docker save`: a list of configs and layers by file name. There is no manifest, so we make one. */
const listSchema = Type.Array(
  Type.Object({
    Config: Type.String(),
    RepoTags: Type.Optional(Type.Union([Type.Null(), Type.Array(Type.String())])),
    Layers: Type.Array(Type.String()),
  }),
);

/** Undefined if the archive is not of this form. */
async function findDockerImages(store: ContentStore, files: ImageFiles): Promise<FoundImage[] | undefined> {
  const text = await files.read(dockerManifestFile);
  if (text === undefined) return undefined;
  const images: FoundImage[] = [];
  for (const { Config, RepoTags, Layers } of parseJsonAs(listSchema, text, dockerManifestFile)) {
    const config = await descriptor(files, Config, mediaTypes.config);
    const layers: Descriptor[] = [];
    // Their media type is for others to see; we look at the content.
    for (const name of Layers) layers.push(await descriptor(files, name, mediaTypes.layerTar));
    const manifest: ImageManifest = { kind: "manifest", config, layers };
    const digest = await store.blobs.put(writeManifest(config, layers));
    images.push({ digest, manifestDigest: digest, manifest, names: RepoTags ?? [] });
  }
  return images;
}

async function descriptor(files: ImageFiles, name: string, mediaType: string): Promise<Descriptor> {
  const stored = await files.store(name);
  if (stored === undefined)
    throw new ImageError("broken_content", `${dockerManifestFile} speaks of ${JSON.stringify(name)}, which is not in the archive`);
  return { mediaType, ...stored };
}

/** The files of an OCI layout that is a folder on disk. */
function folderFiles(store: ContentStore, folder: string): ImageFiles {
  return {
    read: (name) => readFile(join(folder, name)).catch(() => undefined),
    store: (name) => storeFile(store, folder, name),
  };
}

/** Only names of blobs lead anywhere: others could lead out of the folder. */
async function storeFile(store: ContentStore, folder: string, name: string): Promise<StoredFile | undefined> {
  const digest = promisedDigest(name);
  const path = join(folder, name);
  const found = digest === undefined ? undefined : await stat(path).catch(() => undefined);
  if (digest === undefined || found?.isFile() !== true) return undefined;
  if (await store.blobs.has(digest)) return { digest, size: found.size };
  await using writer = await store.blobs.write();
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) await writer.write(chunk as Buffer);
  return { digest: await writer.commit(digest), size: writer.written };
}
