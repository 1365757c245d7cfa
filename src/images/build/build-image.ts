/**
 * Images of our own, made from files of this machine without any container tool, the same bytes every time.
 *
 * - layer-entries.ts: what is in a layer, as a list (layer/pack.ts packs a folder as it stands)
 * - build-layer.ts: its archive compressed; layout-folder.ts: where that and everything else is kept
 * - build-image.ts: layers with config and manifest; push-image.ts: to a registry
 */
import { type ImageConfig, writeConfig } from "../image-config.ts";
import { type Descriptor, mediaTypes, writeManifest } from "../manifest.ts";
import type { Platform } from "../platform.ts";
import { type Archive, buildLayer, type BuiltLayer } from "./build-layer.ts";
import type { LayoutFolder } from "./layout-folder.ts";

export interface ImageSpec {
  /** Lowest first. */
  readonly layers: readonly Archive[];
  readonly config: ImageConfig;
  readonly platform: Platform;
}

export interface BuiltImage {
  /** Of the manifest: its digest is the image's. */
  readonly manifest: Descriptor;
  readonly content: Buffer;
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

/** Makes the image; all of it is in the layout then. */
export async function buildImage(layout: LayoutFolder, { layers, config, platform }: ImageSpec, signal?: AbortSignal): Promise<BuiltImage> {
  const built: BuiltLayer[] = [];
  for (const archive of layers) built.push(await buildLayer(layout, archive, signal));
  // No time of creation: it would be the only thing that differs between two builds.
  const text = writeConfig({ platform, config, diffIds: built.map(({ diffId }) => diffId) });
  const described: Descriptor = { mediaType: mediaTypes.config, digest: await layout.put(text), size: text.length };
  const blobs = built.map(({ blob }) => blob);
  const content = writeManifest(described, blobs);
  const manifest: Descriptor = { mediaType: mediaTypes.manifest, digest: await layout.put(content), size: content.length, platform };
  return { manifest, content, config: described, layers: blobs };
}

/** Bytes of an image as a registry keeps it. */
export function imageBytes({ manifest, config, layers }: BuiltImage): number {
  return [manifest, config, ...layers].reduce((sum, { size }) => sum + size, 0);
}
