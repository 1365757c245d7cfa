import { Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { type Digest, Digester } from "../digest.ts";
import { ImageError } from "../image-error.ts";
import { type Descriptor, mediaTypes } from "../manifest.ts";
import type { LayoutFolder } from "./layout-folder.ts";

/** A layer's archive, in pieces of one size. It is read twice and must be the same each time. */
export type Archive = () => AsyncIterable<Buffer>;

export interface BuiltLayer {
  readonly blob: Descriptor;
  /** Of the archive. */
  readonly diffId: Digest;
}

/** Beyond this a binary gets hardly smaller, and much slower. */
const gzipLevel = 6;

/**
 * Compresses an archive into the layout, unless the same one has been before: hashing is thirty times faster. Node writes
 * gzip without a time, and with gzip every runtime and tool can do something.
 */
export async function buildLayer(layout: LayoutFolder, archive: Archive, signal?: AbortSignal): Promise<BuiltLayer> {
  const diffId = await digestOfAll(archive(), signal);
  const known = await layout.compressed(diffId);
  if (known !== undefined) return { diffId, blob: { mediaType: mediaTypes.layerGzip, ...known } };
  const digester = new Digester();
  async function* counted(): AsyncGenerator<Buffer, void> {
    for await (const piece of archive()) {
      digester.update(piece);
      yield piece;
    }
  }
  const compressed = Readable.from(counted()).compose(createGzip({ level: gzipLevel }), signal === undefined ? {} : { signal });
  await using writer = await layout.write();
  for await (const chunk of compressed) await writer.write(chunk as Buffer);
  if (digester.digest() !== diffId) throw new ImageError("broken_content", "what is to become a layer changed while it was packed");
  const digest = await writer.commit();
  await layout.rememberCompressed(diffId, digest);
  return { diffId, blob: { mediaType: mediaTypes.layerGzip, digest, size: writer.written } };
}

async function digestOfAll(archive: AsyncIterable<Buffer>, signal: AbortSignal | undefined): Promise<Digest> {
  const digester = new Digester();
  for await (const piece of archive) {
    signal?.throwIfAborted();
    digester.update(piece);
  }
  return digester.digest();
}
