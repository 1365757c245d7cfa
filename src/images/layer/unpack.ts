/**
 * Layers: the archives that images are made of, and the folders that containers see. This file turns one into the other,
 * in a form that overlayfs takes as a lower directory. Owners and modes are the image's own, user ids count from 0.
 *
 * - decompress.ts, byte-reader.ts, tar-reader.ts, tar-header.ts, pax.ts: from a blob to entries
 * - layer-path.ts, layer-root.ts, lower-layers.ts: where an entry may go, and that it goes nowhere else
 * - apply-entry.ts, attributes.ts, overlay-marks.ts: putting it there
 * - sparse-file.ts: files without their zeros; disk-room.ts: what stays free on the disk; limits.ts: how much is too much
 * - unpack-thread.ts: the same in a thread of its own
 * - pack.ts, tar-writer.ts: from a folder to an archive
 */
import { createReadStream } from "node:fs";
import { type Digest, Digester } from "../digest.ts";
import { ImageError } from "../image-error.ts";
import { applyEntry } from "./apply-entry.ts";
import { decompress } from "./decompress.ts";
import { RoomWatch } from "./disk-room.ts";
import { LayerRoot } from "./layer-root.ts";
import type { LayerLimits } from "./limits.ts";
import type { OverlayMarks } from "./overlay-marks.ts";
import { TarReader } from "./tar-reader.ts";

/** Only whether a layer is what it must be. */
export interface CheckRequest {
  /** The layer as the registry has it. */
  readonly blob: string;
  /** What its uncompressed form must be. */
  readonly diffId: Digest;
  readonly limits: LayerLimits;
}

export interface UnpackRequest extends CheckRequest {
  /** Where to: an empty folder. */
  readonly folder: string;
  /** Unpacked layers below this one, topmost first. */
  readonly lowers: readonly string[];
  readonly marks: OverlayMarks;
}

export interface Unpacked {
  readonly entries: number;
  /** Uncompressed size of the archive. */
  readonly bytes: number;
  /** What its files take on the disk: less where they hold runs of zeros. */
  readonly diskBytes: number;
}

const readSize = 256 * 1024;

/** Fills the folder. If it fails the folder holds anything and must be thrown away. */
export async function unpackLayer(request: UnpackRequest | CheckRequest, onBytes: (bytes: number) => void = ignore): Promise<Unpacked> {
  const digester = new Digester();
  const progress = { bytes: 0 };
  async function* hashed(): AsyncGenerator<Buffer, void> {
    const blob: AsyncIterable<Buffer> = createReadStream(request.blob, { highWaterMark: readSize });
    for await (const chunk of decompress(blob, request.limits)) {
      digester.update(chunk);
      progress.bytes += chunk.length;
      onBytes(progress.bytes);
      yield chunk;
    }
  }
  const isCheck = !("folder" in request);
  const made = await (isCheck ? drained(hashed()) : unpackEntries(request, hashed())).catch((error: unknown) => {
    throw storageError(error, isCheck ? request.blob : request.folder);
  });
  const diffId = digester.digest();
  if (diffId !== request.diffId) {
    throw new ImageError("digest_mismatch", `the layer unpacks to ${diffId}, but the image's config says ${request.diffId}`);
  }
  return { ...made, bytes: progress.bytes };
}

type Made = Pick<Unpacked, "entries" | "diskBytes">;

async function drained(archive: AsyncIterable<Buffer>): Promise<Made> {
  for await (const _ of archive);
  return { entries: 0, diskBytes: 0 };
}

async function unpackEntries(request: UnpackRequest, archive: AsyncGenerator<Buffer, void>): Promise<Made> {
  const { folder, lowers, marks, limits } = request;
  const root = new LayerRoot(folder, lowers, marks);
  const tar = new TarReader(archive);
  const room = new RoomWatch(folder, limits.reserveBytes);
  let entries = 0;
  let diskBytes = 0;
  try {
    for (let entry = await tar.next(); entry !== undefined; entry = await tar.next()) {
      if (++entries > limits.maxEntries) {
        throw new ImageError(
          "too_large",
          `there are more than the ${limits.maxEntries} entries that are allowed (AGENTBOX_IMAGE_MAX_FILES)`,
        );
      }
      room.take({ entries: 1 });
      diskBytes += await applyEntry(root, entry, { tar, room });
    }
  } finally {
    // Closes the blob if we stopped early.
    await archive.return();
  }
  root.finish();
  return { entries, diskBytes };
}

/** What the file system refused, told apart from what is wrong with the layer. */
function storageError(error: unknown, folder: string): unknown {
  if (!(error instanceof Error) || !("syscall" in error)) return error;
  return new ImageError("storage", `unpacking into ${folder} failed: ${error.message}`, { cause: error });
}

function ignore(): void {
  // The default observer: does nothing.
}
