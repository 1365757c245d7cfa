/** The image that a container runs, as the lower part of another one. */
import { baseLabel } from "#model/checkpoint-image.ts";
import type { ContentStore } from "../content-store/content-store.ts";
import { readParts } from "../content-store/image-parts.ts";
import type { Digest } from "../digest.ts";
import type { HostImage } from "../host-image.ts";
import { hostBase, type ImageConfig } from "../image-config.ts";
import { ImageError } from "../image-error.ts";
import type { Descriptor } from "../manifest.ts";
import type { Platform } from "../platform.ts";
import { canonicalName, formatReference, parseReference } from "../reference.ts";

export interface BaseImage {
  readonly config: ImageConfig;
  readonly platform?: Platform;
  readonly diffIds: readonly Digest[];
  /** Lowest first. */
  readonly layers: readonly Descriptor[];
}

export interface BaseDeps {
  readonly store: ContentStore;
  readonly host?: HostImage | undefined;
}

/** `base` names the image with its digest. It is on this machine: a container runs it. */
export async function baseImage({ store, host }: BaseDeps, base: string): Promise<BaseImage> {
  const reference = parseReference(base);
  if (reference.kind === "host") {
    if (host === undefined) throw new ImageError("unsupported", `${base} is the machine itself, which is not offered as an image here`);
    const { config } = await host.prepare();
    // Nothing of the machine is copied: only what the sandbox changed is in the image.
    return { config: { ...config, labels: { ...config.labels, [baseLabel]: hostBase } }, diffIds: [], layers: [] };
  }
  const { digest } = reference;
  const record = (await store.images.list()).find((image) => image.digest === digest || image.manifest === digest);
  const manifest = record?.manifest ?? digest;
  const parts = manifest === undefined ? undefined : await readParts(store, manifest);
  if (parts === undefined) throw new ImageError("not_present", `${formatReference(reference)} is not on this machine any more`);
  const { config: own, platform, diffIds } = parts.config;
  // Of a checkpoint of a checkpoint it is the lowest base that counts.
  const config = own.labels[baseLabel] === undefined ? { ...own, labels: { ...own.labels, [baseLabel]: canonicalName(reference) } } : own;
  return { config, platform, diffIds, layers: parts.layers.map(({ blob }) => blob) };
}
