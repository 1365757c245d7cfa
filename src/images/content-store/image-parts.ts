/** What an image consists of, read from the store. */
import type { Digest } from "../digest.ts";
import { ImageError } from "../image-error.ts";
import { chainIds, type ConfigFile, parseConfig } from "../image-config.ts";
import { type Descriptor, parseManifest } from "../manifest.ts";
import type { ResolvedImage } from "../resolved-image.ts";
import type { ContentStore } from "./content-store.ts";
import type { ImageRecord } from "./image-records.ts";

export interface ImageParts {
  readonly config: ConfigFile;
  readonly layers: readonly LayerPart[];
}

export interface LayerPart {
  readonly chainId: Digest;
  readonly diffId: Digest;
  readonly blob: Descriptor;
}

/** The parts that manifest and config promise, lowest layer first. Throws if the two do not fit together. */
export function partsOf(layers: readonly Descriptor[], config: ConfigFile, what: string): ImageParts {
  if (layers.length !== config.diffIds.length) {
    throw new ImageError("broken_content", `${what} has ${layers.length} layers, but its config speaks of ${config.diffIds.length}`);
  }
  const chain = chainIds(config);
  const parts = layers.flatMap((blob, index): LayerPart[] => {
    const [chainId, diffId] = [chain[index], config.diffIds[index]];
    return chainId === undefined || diffId === undefined ? [] : [{ chainId, diffId, blob }];
  });
  return { config, layers: parts };
}

/** The parts of an image; undefined if its manifest or its config is not here. */
export async function readParts(store: ContentStore, manifestDigest: Digest): Promise<ImageParts | undefined> {
  const what = `the image ${manifestDigest}`;
  const text = await store.blobs.read(manifestDigest);
  const manifest = text === undefined ? undefined : parseManifest(text, what);
  const config = manifest?.kind === "manifest" ? await store.blobs.read(manifest.config.digest) : undefined;
  if (manifest?.kind !== "manifest" || config === undefined) return undefined;
  return partsOf(manifest.layers, parseConfig(config, `the config of ${what}`), what);
}

/** The image, ready to be mounted; undefined if something of it is missing. */
export async function readyImage(store: ContentStore, record: ImageRecord): Promise<ResolvedImage | undefined> {
  const parts = await readParts(store, record.manifest);
  if (parts === undefined) return undefined;
  const here = await Promise.all(parts.layers.map(({ chainId }) => store.layers.has(chainId)));
  if (here.includes(false)) return undefined;
  const layers = parts.layers.map(({ chainId }) => store.layers.pathOf(chainId)).reverse();
  return { kind: "oci", id: record.id, digest: record.digest, config: parts.config.config, layers };
}
