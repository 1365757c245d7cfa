/**
 * Layers: the archives that images are made of, and the folders that containers see. This file turns one into the other,
 * in a form that overlayfs takes as a lower directory. Owners and modes are the image's own, user ids count from 0.
 *
 * - decompress.ts, byte-reader.ts, tar-reader.ts, tar-header.ts, pax.ts: from a blob to entries
 * - layer-path.ts, layer-root.ts, lower-layers.ts: where an entry may go, and that it goes nowhere else
 * - apply-entry.ts, attributes.ts, overlay-marks.ts: putting it there
 * - unpack-thread.ts: the same in a thread of its own; limits.ts: how much is too much
 * - pack.ts, tar-writer.ts: from a folder to an archive
 */
import { createReadStream } from "node:fs";
import { type Digest, Digester } from "../digest.ts";
import { ImageError } from "../image-error.ts";
import { applyEntry } from "./apply-entry.ts";
import { decompress } from "./decompress.ts";
import { LayerRoot } from "./layer-root.ts";
import type { LayerLimits } from "./limits.ts";
import type { OverlayMarks } from "./overlay-marks.ts";
import { TarReader } from "./tar-reader.ts";

export interface UnpackRequest {
  /** The layer as the registry has it. */
  readonly blob: string;
  /** What its uncompressed form must be. */
  readonly diffId: Digest;
  /** Where to: an empty folder. */
  readonly folder: string;
  /** Unpacked layers below this one, topmost first. */
  readonly lowers: readonly string[];
  readonly marks: OverlayMarks;
  readonly limits: LayerLimits;
}

export interface Unpacked {
  readonly entries: number;
  /** Uncompressed size of the archive. */
  readonly bytes: number;
}

const readSize = 256 * 1024;

/** Fills the folder. If it fails the folder holds anything and must be thrown away. */
export async function unpackLayer(request: UnpackRequest, onBytes: (bytes: number) => void = ignore): Promise<Unpacked> {
  const digester = new Digester();
  const progress = { bytes: 0 };
  const blob: AsyncIterable<Buffer> = createReadStream(request.blob, { highWaterMark: readSize });
  async function* hashed(): AsyncGenerator<Buffer, void> {
    for await (const chunk of decompress(blob, request.limits)) {
      digester.update(chunk);
      progress.bytes += chunk.length;
      onBytes(progress.bytes);
      yield chunk;
    }
  }
  const entries = await unpackEntries(request, hashed()).catch((error: unknown) => {
    throw storageError(error, request.folder);
  });
  const diffId = digester.digest();
  if (diffId !== request.diffId) {
    throw new ImageError("digest_mismatch", `the layer unpacks to ${diffId}, but the image's config says ${request.diffId}`);
  }
  return { entries, bytes: progress.bytes };
}

async function unpackEntries(request: UnpackRequest, archive: AsyncGenerator<Buffer, void>): Promise<number> {
  const root = new LayerRoot(request.folder, request.lowers, request.marks);
  const tar = new TarReader(archive);
  let entries = 0;
  try {
    for (let entry = await tar.next(); entry !== undefined; entry = await tar.next()) {
      if (++entries > request.limits.maxEntries) {
        throw new ImageError("too_large", `the layer has more than the ${request.limits.maxEntries} entries that are allowed`);
      }
      await applyEntry(root, entry, tar);
    }
  } finally {
    // Closes the blob if we stopped early.
    await archive.return();
  }
  root.finish();
  return entries;
}

/** What the file system refused, told apart from what is wrong with the layer. */
function storageError(error: unknown, folder: string): unknown {
  if (!(error instanceof Error) || !("syscall" in error)) return error;
  return new ImageError("storage", `unpacking into ${folder} failed: ${error.message}`, { cause: error });
}

function ignore(): void {
  // Nobody watches.
}
