/** Fetches an image from a registry into the store: manifest, config, layers, and at last its name. */
import type { Random } from "#lib/backoff.ts";
import type { Clock } from "#lib/clock.ts";
import { Limiter } from "#lib/limiter.ts";
import { addLayers } from "./add-layers.ts";
import type { ContentStore } from "./content-store/content-store.ts";
import { type LayerPart, partsOf } from "./content-store/image-parts.ts";
import type { ImageRecord } from "./content-store/image-records.ts";
import { overLimit, partsToShare, type TeamBudget } from "./content-store/team-shares.ts";
import { type Digest, hexOf } from "./digest.ts";
import { checkConfigSize, type FetchedManifest, fetchManifest, type ManifestWish } from "./fetch-manifest.ts";
import { ImageError, isImageError } from "./image-error.ts";
import { parseConfig } from "./image-config.ts";
import { type Descriptor, manifestFor, maxManifestBytes } from "./manifest.ts";
import type { Platform } from "./platform.ts";
import type { OnProgress } from "./progress.ts";
import { canonicalName, formatReference, type RegistryReference } from "./reference.ts";
import type { RegistryClient } from "./registry/client.ts";
import { downloadBlob, type DownloadOptions } from "./registry/download.ts";
import type { PullSecret } from "./registry/pull-secret.ts";
import type { RemoteRepository } from "./registry/remote-repository.ts";

export interface PullDeps {
  readonly store: ContentStore;
  readonly client: RegistryClient;
  readonly clock: Clock;
  readonly random: Random;
}

export interface PullOptions {
  readonly platform: Platform;
  readonly secrets: readonly PullSecret[];
  /** The team it is pulled for, and how much that team may take; left out: for no team. */
  readonly budget?: TeamBudget | undefined;
  readonly onProgress?: OnProgress | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Layers of one image that are downloaded at once. */
const downloadsAtOnce = 4;

export function pullImage(deps: PullDeps, reference: RegistryReference, options: PullOptions): Promise<ImageRecord> {
  const { store, clock } = deps;
  const pull = async (): Promise<ImageRecord> => {
    const repository = deps.client.open(reference, options.secrets);
    const { digest, manifestDigest, manifest } = await storeManifest(deps, repository, reference, options);
    const what = formatReference(reference);
    const identity = repository.identity;
    const { registry } = reference;
    checkConfigSize(manifest.config);
    await fetchBlob(deps, { repository, registry }, manifest.config, { signal: options.signal });
    const config = parseConfig(await store.blobs.require(manifest.config.digest, `the config of ${what}`), `the config of ${what}`);
    const limiter = new Limiter(downloadsAtOnce);
    const { layers } = partsOf(manifest.layers, config, what);
    const add = (roomBytes?: () => Promise<number>): Promise<void> =>
      addLayers(store, layers, {
        ...options,
        registry,
        roomBytes,
        fetch: (blob, onBytes, signal) => limiter.run(() => fetchBlob(deps, { repository, registry }, blob, { onBytes, signal })),
      });
    await withinBudget(store, { manifest: manifestDigest, layers }, options.budget, add);
    const record: ImageRecord = {
      name: canonicalName(reference),
      digest,
      manifest: manifestDigest,
      id: manifest.config.digest,
      source: "registry",
      since: clock.now(),
      shownTo: [identity],
    };
    await store.images.put(record);
    return record;
  };
  return store.adding(pull, options.signal);
}

interface LayersOfImage {
  readonly manifest: Digest;
  readonly layers: readonly LayerPart[];
}

/** What a layer unpacks to is known only while it does. */
async function withinBudget(
  store: ContentStore,
  { manifest, layers }: LayersOfImage,
  budget: TeamBudget | undefined,
  add: (roomBytes?: () => Promise<number>) => Promise<void>,
): Promise<void> {
  if (budget === undefined) return add();
  await store.shares.bringing(budget, { manifest, parts: partsToShare(layers) }, async () => {
    let isTight = false;
    const roomBytes = async (): Promise<number> => {
      const room = budget.maxBytes - (await store.shares.usedBytes(budget.team));
      isTight = room < store.limits.maxBytes;
      return room;
    };
    try {
      await add(roomBytes);
    } catch (error) {
      if (!isImageError(error, "too_large") || !isTight) throw error;
      throw overLimit(budget, await store.shares.usedBytes(budget.team));
    }
  });
}

/** The manifest for the platform; it and the index that led to it are in the store then. */
async function storeManifest(
  { store }: PullDeps,
  repository: RemoteRepository,
  reference: RegistryReference,
  { platform, signal }: PullOptions,
): Promise<FetchedManifest> {
  const choose: ManifestWish["choose"] = (index, what) => manifestFor(index, platform, what);
  const fetched = await fetchManifest(repository, { reference, choose, signal });
  for (const content of fetched.contents) await store.blobs.put(content);
  return fetched;
}

export interface BlobSource {
  readonly repository: RemoteRepository;
  readonly registry: string;
}

/** Brings a blob into the store unless this registry has brought it. When two want the same one, one fetches and the other waits. */
export async function fetchBlob(
  deps: Pick<PullDeps, "store" | "clock" | "random">,
  { repository, registry }: BlobSource,
  descriptor: Descriptor,
  options: DownloadOptions,
): Promise<void> {
  const { store } = deps;
  const { digest } = descriptor;
  if (descriptor.size > store.limits.maxBytes) {
    throw new ImageError("too_large", `the blob ${digest} has ${descriptor.size} bytes; ${store.limits.maxBytes} are allowed`);
  }
  const isHere = async (): Promise<boolean> => (await store.blobs.isFrom(registry, digest)) && isSound(store, descriptor);
  const fetch = async (): Promise<void> => {
    if (await isHere()) return;
    await using writer = await store.blobs.write(descriptor.size);
    await downloadBlob(deps, { repository, descriptor, writer }, options);
    await store.blobs.noteFrom(registry, digest);
  };
  if (!(await isHere())) await store.locks.holding(`blob-${hexOf(digest)}`, "exclusive", fetch, options.signal);
}

/** Small blobs are looked at in full: what the disk has damaged is not there. Large ones show it when they are unpacked. */
async function isSound(store: ContentStore, { digest, size }: Descriptor): Promise<boolean> {
  if (size <= maxManifestBytes) return (await store.blobs.read(digest)) !== undefined;
  return (await store.blobs.size(digest)) === size;
}
