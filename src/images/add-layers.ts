/** Brings the layers of an image into the store: blobs in any order, several at once, then unpacked from the bottom up. */
import { ChildAbort } from "#lib/abortable.ts";
import type { ContentStore } from "./content-store/content-store.ts";
import type { LayerPart } from "./content-store/image-parts.ts";
import type { NewLayer } from "./content-store/layers.ts";
import { isImageError } from "./image-error.ts";
import { UnpackThread } from "./layer/unpack-thread.ts";
import type { Descriptor } from "./manifest.ts";
import type { LayerProgress, OnProgress } from "./progress.ts";

export interface AddLayersOptions {
  /** Brings a layer's blob into the store. Not called for layers that are unpacked already. */
  readonly fetch: (blob: Descriptor, onBytes: (bytes: number) => void, signal: AbortSignal) => Promise<void>;
  readonly onProgress?: OnProgress | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Resolves when all layers, given lowest first, are unpacked. */
export async function addLayers(store: ContentStore, layers: readonly LayerPart[], options: AddLayersOptions): Promise<void> {
  using abort = new ChildAbort(options.signal);
  await using thread = new UnpackThread();
  const fetched = layers.map((layer) => fetchLayer(store, layer, options, abort.signal));
  // The first failure ends all others, and whoever waits for them, with its own error.
  for (const one of fetched) one.catch((error: Error) => abort.abort(error));
  try {
    for (const [index, layer] of layers.entries()) {
      const below = layers
        .slice(0, index)
        .map(({ chainId }) => chainId)
        .reverse();
      await fetched[index];
      await unpack(store, { ...layer, below }, thread, { ...options, signal: abort.signal });
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

async function fetchLayer(store: ContentStore, layer: LayerPart, options: AddLayersOptions, signal: AbortSignal): Promise<void> {
  if (await store.layers.has(layer.chainId)) return;
  tell(options, layer, "waiting", 0);
  await options.fetch(layer.blob, (bytes) => tell(options, layer, "downloading", bytes), signal);
}

async function unpack(
  store: ContentStore,
  layer: LayerPart & Pick<NewLayer, "below">,
  thread: UnpackThread,
  options: AddLayersOptions,
): Promise<void> {
  const { blob } = layer;
  const onBytes = (bytes: number): void => tell(options, layer, "unpacking", bytes);
  try {
    await store.layers.ensure({ ...layer, blob: store.blobs.pathOf(blob.digest) }, thread, { onBytes, signal: options.signal });
  } catch (error) {
    // A blob that cannot be unpacked is of no use; if the disk damaged it the next try fetches it again.
    if (isImageError(error) && error.code !== "storage") await store.blobs.remove(blob.digest);
    throw error;
  }
}

function tell({ onProgress }: AddLayersOptions, { blob }: LayerPart, state: LayerProgress["state"], bytes: number): void {
  onProgress?.({ layer: blob.digest, state, bytes, total: blob.size });
}
