/** The image that a container runs, as the lower part of another one. */
import { baseLabel, isCheckpointImage } from "#model/checkpoint-image.ts";
import type { ContentStore } from "../content-store/content-store.ts";
import { readParts } from "../content-store/image-parts.ts";
import type { Digest } from "../digest.ts";
import type { HostImage } from "../host-image.ts";
import { hostBase, type ImageConfig, isOnHost } from "../image-config.ts";
import { ImageError } from "../image-error.ts";
import type { Descriptor } from "../manifest.ts";
import type { Platform } from "../platform.ts";
import { canonicalName, formatReference, parseReference } from "../reference.ts";

export interface BaseImage {
  readonly config: ImageConfig;
  /** Left out: it has no layers of its own. */
  readonly manifest?: Digest;
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
  const config = isCheckpointImage(base) ? own : labelled(own, canonicalName(reference));
  return { config, ...(manifest === undefined ? {} : { manifest }), platform, diffIds, layers: parts.layers.map(({ blob }) => blob) };
}

/** Of a checkpoint of a checkpoint it is the lowest base that counts. What any other image says of that is the word of a stranger. */
export function labelled(config: ImageConfig, name: string): ImageConfig {
  if (isOnHost(config))
    throw new ImageError("unsupported", `${name} has the label ${baseLabel}=${hostBase}, which only checkpoints of ${hostBase} may have`);
  return { ...config, labels: { ...config.labels, [baseLabel]: name } };
}
