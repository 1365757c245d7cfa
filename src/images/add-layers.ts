/** Brings the layers of an image into the store: blobs in any order, several at once, then unpacked from the bottom up. */
import { ChildAbort } from "#lib/abortable.ts";
import type { ContentStore } from "./content-store/content-store.ts";
import type { LayerPart } from "./content-store/image-parts.ts";
import type { LayerOrigin, NewLayer } from "./content-store/layers.ts";
import { ImageError, isImageError } from "./image-error.ts";
import { limitsLeft, type Spent } from "./layer/limits.ts";
import { UnpackThread } from "./layer/unpack-thread.ts";
import type { Descriptor } from "./manifest.ts";
import type { LayerProgress, OnProgress } from "./progress.ts";

export interface AddLayersOptions {
  /** Where the layers come from; undefined when an admin brings them. */
  readonly registry?: string;
  /** Brings a layer's blob into the store. Not called for layers that are unpacked already, and came from this registry. */
  readonly fetch: (blob: Descriptor, onBytes: (bytes: number) => void, signal: AbortSignal) => Promise<void>;
  /** What the next layer may unpack to, if that is less than the store allows. */
  readonly roomBytes?: (() => Promise<number>) | undefined;
  readonly onProgress?: OnProgress | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Resolves when all layers, given lowest first, are unpacked. */
export async function addLayers(store: ContentStore, layers: readonly LayerPart[], options: AddLayersOptions): Promise<void> {
  const compressedBytes = layers.reduce((sum, { blob }) => sum + blob.size, 0);
  checkCompressed(store, compressedBytes);
  using abort = new ChildAbort(options.signal);
  await using thread = new UnpackThread();
  const fetched = layers.map((layer) => fetchLayer(store, layer, options, abort.signal));
  // The first failure ends all other downloads and their waiters with its own error.
  for (const one of fetched) one.catch((error: Error) => abort.abort(error));
  let spent: Spent = { bytes: 0, entries: 0 };
  try {
    for (const [index, layer] of layers.entries()) {
      const limits = limitsLeft(store.limits, compressedBytes, spent);
      const below = layers
        .slice(0, index)
        .map(({ chainId }) => chainId)
        .reverse();
      await fetched[index];
      await unpack(store, { ...layer, below, limits }, thread, { ...options, signal: abort.signal });
      const own = await store.layers.spent(layer.chainId);
      spent = { bytes: spent.bytes + own.bytes, entries: spent.entries + own.entries };
      tell(options, layer, "done", layer.blob.size);
    }
  } catch (error) {
    abort.abort(error as Error);
    throw error;
  } finally {
    // Nothing goes on in the background after a failure.
    await Promise.allSettled(fetched);
  }
}

/** Before anything is fetched: what is promised is an image's own word, and what comes beyond it is cut off. */
function checkCompressed({ limits }: ContentStore, bytes: number): void {
  if (bytes <= limits.maxBytes) return;
  throw new ImageError("too_large", `the image has ${bytes} bytes; ${limits.maxBytes} are allowed (AGENTBOX_IMAGE_MAX_BYTES)`);
}

async function fetchLayer(store: ContentStore, layer: LayerPart, options: AddLayersOptions, signal: AbortSignal): Promise<void> {
  if (await store.layers.isFrom(layer.chainId, originOf(layer, options))) return;
  tell(options, layer, "waiting", 0);
  await options.fetch(layer.blob, (bytes) => tell(options, layer, "downloading", bytes), signal);
}

async function unpack(
  store: ContentStore,
  layer: LayerPart & Pick<NewLayer, "below" | "limits">,
  thread: UnpackThread,
  options: AddLayersOptions,
): Promise<void> {
  const { blob } = layer;
  const onBytes = (bytes: number): void => tell(options, layer, "unpacking", bytes);
  try {
    const origin = originOf(layer, options);
    const { roomBytes } = options;
    await store.layers.ensure({ ...layer, origin, roomBytes, blob: store.blobs.pathOf(blob.digest) }, thread, {
      onBytes,
      signal: options.signal,
    });
  } catch (error) {
    // A blob that cannot be unpacked is of no use; if the disk damaged it the next try fetches it again.
    if (isImageError(error) && error.code !== "storage") await store.blobs.remove(blob.digest);
    throw error;
  }
}

function originOf({ blob }: LayerPart, { registry }: AddLayersOptions): LayerOrigin | undefined {
  return registry === undefined ? undefined : { registry, blob: blob.digest };
}

function tell({ onProgress }: AddLayersOptions, { blob }: LayerPart, state: LayerProgress["state"], bytes: number): void {
  onProgress?.({ layer: blob.digest, state, bytes, total: blob.size });
}
