/**
 * A folder as a layer's archive. Whatever overlayfs wrote as "deleted" becomes OCI's whiteouts again, so the upper
 * directory of a container is packed the same way as a root file system. Sorted, so that equal folders give equal archives.
 */
import type { Stats } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
import { ImageError } from "../image-error.ts";
import { inPieces } from "./archive-pieces.ts";
import { type Attributes, attributesAt } from "./attributes.ts";
import { fileContent } from "./file-content.ts";
import { bytesOf, joinPath, latin1Of, looksLikeWhiteout, opaqueMarker, printable, whiteoutName } from "./layer-path.ts";
import { isOpaque, isWhiteout, type OverlayMarks } from "./overlay-marks.ts";
import type { TarType } from "./tar-header.ts";
import { tarEnd, tarHeader } from "./tar-writer.ts";

export interface PackOptions {
  readonly marks: OverlayMarks;
  /** Called for sockets and devices, which have no place in a layer. */
  readonly onSkipped?: ((path: string) => void) | undefined;
  /**
   * Names in this folder that are deleted of the layers below, in place of the mark that hides all of them: with both, the name of a whiteout would show in a
   * folder that has nothing below it. Names and paths are latin1.
   */
  readonly hidden?: ((path: string, names: readonly string[]) => Promise<readonly string[]>) | undefined;
  /** What does not belong into the layer, with all that is below it. */
  readonly isLeftOut?: ((path: string) => boolean) | undefined;
}

const markerAttributes: Attributes = { uid: 0, gid: 0, mode: 0, mtime: 0, xattrs: new Map() };

export function packFolder(folder: string, options: PackOptions): AsyncGenerator<Buffer, void> {
  return inPieces(packAll(folder, options));
}

async function* packAll(folder: string, options: PackOptions): AsyncGenerator<Buffer, void> {
  const root = latin1Of(folder);
  const { dev } = await lstat(folder);
  yield* packEntries({ root, device: dev, names: new Map(), options }, "");
  yield tarEnd;
}

interface Packing {
  readonly root: string;
  /** Of the folder: what is mounted inside it does not belong to it. */
  readonly device: number;
  /** First names of files that have several. */
  readonly names: Map<string, string>;
  readonly options: PackOptions;
}

async function* packEntries(packing: Packing, path: string): AsyncGenerator<Buffer, void> {
  const place = placeOf(packing, path);
  const stat = await lstat(place);
  if (!stat.isDirectory()) {
    yield* packFile(packing, path, stat);
    return;
  }
  yield header(path === "" ? "./" : `${path}/`, "directory", attributesAt(place, stat));
  if (stat.dev !== packing.device) return;
  const names = (await readdir(place, { encoding: "latin1" })).sort();
  yield* packHidden(packing, path, names);
  for (const name of names) {
    if (packing.options.isLeftOut?.(joinPath(path, name)) === true) continue;
    if (looksLikeWhiteout(name)) {
      throw new ImageError(
        "broken_content",
        `${printable(joinPath(path, name))} cannot be in a layer: names that begin with .wh. mean deletions there`,
      );
    }
    yield* packEntries(packing, joinPath(path, name));
  }
}

/** What the folder hides of the layers below. */
async function* packHidden(packing: Packing, path: string, names: readonly string[]): AsyncGenerator<Buffer, void> {
  const { marks, hidden } = packing.options;
  if (hidden !== undefined) {
    for (const name of await hidden(path, names)) yield header(hiding(joinPath(path, name)), "file", markerAttributes);
  } else if (isOpaque(marks, placeOf(packing, path))) yield header(joinPath(path, opaqueMarker), "file", markerAttributes);
}

async function* packFile(packing: Packing, path: string, stat: Stats): AsyncGenerator<Buffer, void> {
  const place = placeOf(packing, path);
  const { options, names } = packing;
  if (isWhiteout(options.marks, place, stat)) {
    yield header(hiding(path), "file", markerAttributes);
    return;
  }
  const attributes = attributesAt(place, stat);
  const inode = `${stat.dev}:${stat.ino}`;
  const first = names.get(inode);
  if (first !== undefined) yield header(path, "link", attributes, first);
  else if (stat.isFile()) {
    yield tarHeader({ name: path, type: "file", linkName: "", size: stat.size, devMajor: 0, devMinor: 0, ...attributes });
    yield* fileContent(place, path, stat.size);
  } else if (stat.isSymbolicLink()) yield header(path, "symlink", attributes, await readlink(place, "latin1"));
  else if (stat.isFIFO()) yield header(path, "fifo", attributes);
  else {
    options.onSkipped?.(Buffer.from(path, "latin1").toString());
    return;
  }
  if (stat.nlink > 1) names.set(inode, first ?? path);
}

function header(name: string, type: TarType, attributes: Attributes, linkName = ""): Buffer {
  return tarHeader({ name, type, linkName, size: 0, devMajor: 0, devMinor: 0, ...attributes });
}

function hiding(path: string): string {
  const slash = path.lastIndexOf("/") + 1;
  return `${path.slice(0, slash)}${whiteoutName(path.slice(slash))}`;
}

function placeOf({ root }: Packing, path: string): Buffer {
  return bytesOf(path === "" ? root : `${root}/${path}`);
}
