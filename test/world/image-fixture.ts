/** Whole images for tests: layers, config and manifest, made in memory. */
import { type Digest, digestOf } from "#images/digest.ts";
import { type ImageConfig, writeConfig } from "#images/image-config.ts";
import { type Descriptor, mediaTypes, writeManifest } from "#images/manifest.ts";
import { machinePlatform, type Platform } from "#images/platform.ts";
import { type EntrySpec, type LayerFixture, layerOf } from "./layer-archive.ts";

export interface ImageFixture {
  readonly layers: readonly LayerFixture[];
  readonly config: Buffer;
  readonly manifest: Buffer;
  /** Of the manifest. */
  readonly digest: Digest;
  /** Of the config. */
  readonly id: Digest;
  readonly platform: Platform;
}

export const plainConfig: ImageConfig = { env: ["PATH=/bin"], entrypoint: [], cmd: ["/bin/true"], user: "", workingDir: "", labels: {} };

export function imageOf(
  layers: readonly (LayerFixture | readonly EntrySpec[])[],
  about: { config?: Partial<ImageConfig>; platform?: Platform } = {},
): ImageFixture {
  const made = layers.map((layer) => ("blob" in layer ? layer : layerOf(layer)));
  const platform = about.platform ?? machinePlatform();
  const config = writeConfig({ platform, config: { ...plainConfig, ...about.config }, diffIds: made.map(({ diffId }) => diffId) });
  const id = digestOf(config);
  const manifest = writeManifest(
    { mediaType: mediaTypes.config, digest: id, size: config.length },
    made.map(({ mediaType, digest, blob }) => ({ mediaType, digest, size: blob.length })),
  );
  return { layers: made, config, manifest, digest: digestOf(manifest), id, platform };
}

/** An index over images for several platforms. */
export function indexOf(images: readonly ImageFixture[]): Buffer {
  const manifests = images.map(({ digest, manifest, platform }): Descriptor => ({
    mediaType: mediaTypes.manifest,
    digest,
    size: manifest.length,
    platform,
  }));
  return Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: mediaTypes.index, manifests }));
}
