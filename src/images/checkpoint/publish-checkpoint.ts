/**
 * The image of a checkpoint in a registry: the layers of the image that the sandbox ran, and on top the one that its node has put there. The registry
 * gets the layers of the base once, and where it is the base's registry, too, they are not sent at all.
 */
import type { CheckpointConfig } from "#model/checkpoint.ts";
import { checkpointIn } from "#model/checkpoint-image.ts";
import { type Digest, digestOf } from "../digest.ts";
import { checkConfigSize, fetchManifest } from "../fetch-manifest.ts";
import { type ConfigFile, parseConfig, writeConfig } from "../image-config.ts";
import { ImageError } from "../image-error.ts";
import { type Descriptor, type ImageManifest, manifestFor, mediaTypes, parseManifest, writeManifest } from "../manifest.ts";
import type { Platform } from "../platform.ts";
import { canonicalName, parseReference, type RegistryReference, repositoryName } from "../reference.ts";
import type { RegistryClient } from "../registry/client.ts";
import { BlobInMemory, downloadBlob } from "../registry/download.ts";
import type { PullSecret } from "../registry/pull-secret.ts";
import type { PushRepository } from "../registry/push-repository.ts";
import type { RemoteRepository } from "../registry/remote-repository.ts";
import type { RetryDeps } from "../registry/retry.ts";
import { labelled } from "./base-image.ts";
import { changedConfig, checkImageSize } from "./changed-config.ts";

export interface PublishDeps extends RetryDeps {
  readonly client: RegistryClient;
}

/** Where images of checkpoints are, and what the registry wants to see. */
export interface CheckpointTarget {
  /** The repository of one checkpoint. */
  readonly reference: RegistryReference;
  readonly secrets: readonly PullSecret[];
}

export interface CheckpointToPublish extends CheckpointTarget {
  /** The image that the container runs, with its digest. */
  readonly base: string;
  /** What the base's registry wants to see. */
  readonly baseSecrets: readonly PullSecret[];
  readonly platform: Platform;
  /** Uncompressed; the registry has it. */
  readonly layer: { readonly digest: Digest; readonly size: number };
  readonly config?: CheckpointConfig | undefined;
}

export interface PublishedCheckpoint {
  /** With its digest. */
  readonly image: string;
  /** Of the layer. */
  readonly bytes: number;
}

/** A repository holds one image, under this tag. */
const onlyTag = "checkpoint";
const baseNote = "org.opencontainers.image.base.name";

/** Undefined when there is none, or not all of it. */
export async function findPublished(
  { client }: PublishDeps,
  { reference, secrets }: CheckpointTarget,
  signal?: AbortSignal,
): Promise<PublishedCheckpoint | undefined> {
  const digest = await client.openForPush(reference, secrets).digestOfTag(onlyTag, signal);
  if (digest === undefined) return undefined;
  const { content, mediaType } = await client.open(reference, secrets).manifest(digest, signal);
  const manifest = parseManifest(content, `the manifest of ${repositoryName(reference)}`, mediaType);
  return { image: `${repositoryName(reference)}@${digest}`, bytes: manifest.kind === "manifest" ? (manifest.layers.at(-1)?.size ?? 0) : 0 };
}

/** Visible with its last step, when all of it is there. */
export async function publishCheckpoint(
  deps: PublishDeps,
  wanted: CheckpointToPublish,
  signal?: AbortSignal,
): Promise<PublishedCheckpoint> {
  const { reference, secrets, layer } = wanted;
  const base = await baseInRegistry(deps, wanted, signal);
  const start = changedConfig(base.config.config, wanted.config);
  checkImageSize({ layers: base.manifest.layers, platform: base.config.platform, diffIds: base.config.diffIds }, start);
  const target = deps.client.openForPush(reference, secrets);
  for (const blob of base.manifest.layers) await bring(target, blob, { base, reference, signal });
  const config = writeConfig({ ...base.config, config: start, diffIds: [...base.config.diffIds, layer.digest] });
  const described = { mediaType: mediaTypes.config, digest: digestOf(config), size: config.length };
  await target.putBlob(described, () => once(config), signal);
  const layers = [...base.manifest.layers.map(inOci), { mediaType: mediaTypes.layerTar, digest: layer.digest, size: layer.size }];
  const manifest = writeManifest(described, layers, { [baseNote]: wanted.base });
  await target.putManifest(onlyTag, manifest, signal);
  return { image: `${repositoryName(reference)}@${digestOf(manifest)}`, bytes: layer.size };
}

/** False where the registry removes nothing. */
export function unpublishCheckpoint(
  { client }: PublishDeps,
  { reference, secrets }: CheckpointTarget,
  signal?: AbortSignal,
): Promise<boolean> {
  return client.openForPush(reference, secrets).removeTagged(onlyTag, signal);
}

interface BaseInRegistry {
  readonly reference: RegistryReference;
  readonly repository: RemoteRepository;
  readonly manifest: ImageManifest;
  readonly config: ConfigFile;
}

async function baseInRegistry(
  deps: PublishDeps,
  { base, baseSecrets, reference: { registry, repository: own }, secrets, platform }: CheckpointToPublish,
  signal: AbortSignal | undefined,
): Promise<BaseInRegistry> {
  const reference = parseReference(base);
  if (reference.kind === "host") throw new ImageError("unsupported", "host is the machine itself, which no node of a cluster runs");
  // A checkpoint of a checkpoint stands on an image of ours.
  const isOurs = reference.registry === registry && folderOf(reference.repository) === folderOf(own) && checkpointIn(base) !== undefined;
  const repository = deps.client.open(reference, isOurs ? [...secrets, ...baseSecrets] : baseSecrets);
  const { manifest } = await fetchManifest(repository, { reference, choose: (index, what) => manifestFor(index, platform, what), signal });
  checkConfigSize(manifest.config);
  const writer = new BlobInMemory();
  await downloadBlob(deps, { repository, descriptor: manifest.config, writer }, { signal });
  const file = parseConfig(writer.content, `the config of ${base}`);
  const config = isOurs ? file : { ...file, config: labelled(file.config, canonicalName(reference)) };
  return { reference, repository, manifest, config };
}

function folderOf(repository: string): string {
  return repository.slice(0, repository.lastIndexOf("/") + 1);
}

async function bring(
  target: PushRepository,
  blob: Descriptor,
  { base, reference, signal }: { base: BaseInRegistry; reference: RegistryReference; signal: AbortSignal | undefined },
): Promise<void> {
  const isNear = base.reference.registry === reference.registry;
  if (isNear && (await target.mountBlob(blob, base.reference.repository, signal))) return;
  async function* content(): AsyncGenerator<Buffer, void> {
    yield* (await base.repository.blob(blob.digest, 0, signal)).content;
  }
  await target.putBlob(blob, content, signal);
}

/** Docker's own words for layers have no place in an OCI manifest. */
function inOci({ mediaType, digest, size }: Descriptor): Descriptor {
  if (mediaType.endsWith("gzip")) return { mediaType: mediaTypes.layerGzip, digest, size };
  return { mediaType: mediaType.endsWith("zstd") ? mediaTypes.layerZstd : mediaTypes.layerTar, digest, size };
}

async function* once(content: Buffer): AsyncGenerator<Buffer, void> {
  await Promise.resolve();
  yield content;
}
