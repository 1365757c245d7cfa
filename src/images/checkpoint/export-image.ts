/** An image of this machine as an OCI layout, for other tools. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { LayoutFolder } from "../build/layout-folder.ts";
import type { ContentStore } from "../content-store/content-store.ts";
import { type LayerPart, readParts } from "../content-store/image-parts.ts";
import type { ImageRecord } from "../content-store/image-records.ts";
import { ImageError } from "../image-error.ts";
import { probeMarks } from "../layer/overlay-marks.ts";
import { packFolder } from "../layer/pack.ts";
import { mediaTypes } from "../manifest.ts";

const readSize = 256 * 1024;

export interface ExportOptions {
  /** What other tools find the image by in the layout. */
  readonly name: string;
  /** Brings a compressed layer that was thrown away after unpacking back into the store. */
  readonly fetch: (layer: LayerPart) => Promise<void>;
  readonly signal?: AbortSignal | undefined;
}

/** Adds the image to the layout in this folder; makes the layout if there is none. */
export async function exportImage(store: ContentStore, record: ImageRecord, folder: string, options: ExportOptions): Promise<void> {
  return store.adding(async () => {
    const parts = await readParts(store, record.manifest);
    if (parts === undefined) throw new ImageError("not_present", `${record.name} is not whole on this machine: pull it again`);
    const layout = await LayoutFolder.open(folder);
    for (const layer of parts.layers) await addLayer(store, layout, layer, options);
    await layout.put(await store.blobs.require(record.id, `the config of ${record.name}`));
    const manifest = await store.blobs.require(record.manifest, `the manifest of ${record.name}`);
    const digest = await layout.put(manifest);
    await layout.name(options.name, { mediaType: mediaTypes.manifest, digest, size: manifest.length });
  }, options.signal);
}

async function addLayer(store: ContentStore, layout: LayoutFolder, layer: LayerPart, options: ExportOptions): Promise<void> {
  const { blob, chainId, diffId } = layer;
  const isPacked = async (): Promise<boolean> => (await stat(store.blobs.pathOf(blob.digest)).catch(() => undefined)) !== undefined;
  // A layer of a checkpoint is kept unpacked alone: its archive has no compression, so the folder gives the same one again.
  const isOwn = blob.digest === diffId && (await store.layers.has(chainId));
  if (!(await isPacked()) && !isOwn) await options.fetch(layer);
  const content: AsyncIterable<Buffer> =
    isOwn && !(await isPacked())
      ? packFolder(store.layers.pathOf(chainId), { marks: probeMarks(store.folder) })
      : createReadStream(store.blobs.pathOf(blob.digest), { highWaterMark: readSize });
  await using writer = await layout.write();
  for await (const chunk of content) {
    options.signal?.throwIfAborted();
    await writer.write(chunk);
  }
  await writer.commit(blob.digest);
}
