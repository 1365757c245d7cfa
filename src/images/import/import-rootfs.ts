/** A folder with a root file system, as an image of one layer. */
import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { constants, createZstdCompress } from "node:zlib";
import { addLayers } from "../add-layers.ts";
import type { ContentStore } from "../content-store/content-store.ts";
import { partsOf } from "../content-store/image-parts.ts";
import type { ImageRecord } from "../content-store/image-records.ts";
import { type Digest, Digester } from "../digest.ts";
import { ImageError } from "../image-error.ts";
import { type ConfigFile, type ImageConfig, writeConfig } from "../image-config.ts";
import { probeMarks } from "../layer/overlay-marks.ts";
import { packFolder } from "../layer/pack.ts";
import { type Descriptor, mediaTypes, writeManifest } from "../manifest.ts";
import { type ImportOptions, localName } from "./import-image.ts";

export interface RootfsOptions extends Omit<ImportOptions, "name"> {
  readonly name: string;
  /** How containers of it start. */
  readonly config: ImageConfig;
  /** Called for sockets and devices, which are left out. */
  readonly onSkipped?: (path: string) => void;
}

export function importRootfs(store: ContentStore, folder: string, options: RootfsOptions): Promise<ImageRecord> {
  const name = localName(options.name);
  const work = async (): Promise<ImageRecord> => {
    const found = await stat(folder).catch(() => undefined);
    if (found?.isDirectory() !== true) throw new ImageError("not_found", `${folder} is not a folder`);
    const { layer, diffId } = await packLayer(store, folder, options);
    const config: ConfigFile = { platform: options.platform, config: options.config, diffIds: [diffId] };
    const text = writeConfig(config);
    const id = await store.blobs.put(text);
    const manifest = writeManifest({ mediaType: mediaTypes.config, digest: id, size: text.length }, [layer]);
    const digest = await store.blobs.put(manifest);
    await addLayers(store, partsOf([layer], config, name).layers, { ...options, fetch: () => Promise.resolve() });
    const record: ImageRecord = { name, digest, manifest: digest, id, source: "import", since: store.clock.now() };
    await store.images.put(record);
    return record;
  };
  return store.adding(work, options.signal);
}

async function packLayer(store: ContentStore, folder: string, options: RootfsOptions): Promise<{ layer: Descriptor; diffId: Digest }> {
  const digester = new Digester();
  async function* archive(): AsyncGenerator<Buffer, void> {
    for await (const chunk of packFolder(folder, { marks: probeMarks(store.folder), onSkipped: options.onSkipped })) {
      digester.update(chunk);
      yield chunk;
    }
  }
  // Piece by piece, never joined: what the compressor writes depends on how its input is cut.
  const compressed = Readable.from(archive()).compose(
    createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 3 } }),
    options.signal === undefined ? {} : { signal: options.signal },
  );
  await using writer = await store.blobs.write();
  for await (const chunk of compressed) await writer.write(chunk as Buffer);
  const digest = await writer.commit();
  return { layer: { mediaType: mediaTypes.layerZstd, digest, size: writer.written }, diffId: digester.digest() };
}
