/** Puts one entry of a layer's archive on disk. */
import { closeSync, constants, fchmodSync, fchownSync, futimesSync, linkSync, openSync, symlinkSync } from "node:fs";
import { hasCode, makeNode } from "#lib/native/files.ts";
import { ImageError } from "../image-error.ts";
import { type Attributes, attributesOf, setAttributes, setLinkAttributes, setXattrs } from "./attributes.ts";
import type { RoomWatch } from "./disk-room.ts";
import { bytesOf, hostile, joinPath, layerPath, printable, whiteoutOf } from "./layer-path.ts";
import type { LayerRoot } from "./layer-root.ts";
import { SparseFile } from "./sparse-file.ts";
import type { TarEntry } from "./tar-header.ts";
import type { TarReader } from "./tar-reader.ts";

const newFile = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const fifoType = 0o010000;
const maxLinkTarget = 4095;
/** What a folder takes on the disk, as a rule. */
const folderBytes = 4096;

/** Where an entry's content comes from, and the disk that it goes to. */
export interface Content {
  readonly tar: TarReader;
  readonly room: RoomWatch;
}

/** Says how many bytes its content takes on the disk. Opens nothing but files that it makes itself: an image may hold FIFOs. */
export async function applyEntry(root: LayerRoot, entry: TarEntry, content: Content): Promise<number> {
  const names = layerPath(entry.name);
  const base = names.pop();
  if (base === undefined) {
    if (entry.type !== "directory") throw hostile(entry.name, "would put something else in the place of the layer's root");
    root.makeFolder("", attributesOf(entry));
    return 0;
  }
  const whiteout = whiteoutOf(base, entry.name);
  if (whiteout?.kind === "ignore") return 0;
  const folder = root.enter(names, entry.name);
  if (whiteout?.kind === "hide-all") root.hideAllBelow(folder);
  else if (whiteout?.kind === "hide") root.hide(joinPath(folder, whiteout.name));
  else return place(root, entry, joinPath(folder, base), content);
  return 0;
}

async function place(root: LayerRoot, entry: TarEntry, path: string, content: Content): Promise<number> {
  const attributes = attributesOf(entry);
  switch (entry.type) {
    case "directory":
      root.makeFolder(path, attributes);
      return folderBytes;
    case "file":
      root.clear(path);
      return writeFile(root.at(path), attributes, content);
    case "symlink":
      placeSymlink(root, entry, path, attributes);
      return 0;
    case "link":
      placeLink(root, entry, path);
      return 0;
    case "fifo":
      root.clear(path);
      makeNode(root.at(path), fifoType);
      setAttributes(root.at(path), attributes);
      return 0;
    case "char":
    case "block":
      placeDevice(root, entry, path);
      return 0;
  }
}

async function writeFile(path: Buffer, { uid, gid, mode, mtime, xattrs }: Attributes, { tar, room }: Content): Promise<number> {
  const fd = openSync(path, newFile, 0o600);
  try {
    const file = new SparseFile(fd);
    for (let chunk = await tar.read(); chunk !== undefined; chunk = await tar.read()) {
      room.take({ bytes: chunk.length });
      file.write(chunk);
    }
    const diskBytes = file.finish();
    fchownSync(fd, uid, gid);
    fchmodSync(fd, mode);
    if (xattrs.size > 0) setXattrs(path, xattrs);
    futimesSync(fd, mtime, mtime);
    return diskBytes;
  } finally {
    closeSync(fd);
  }
}

function placeSymlink(root: LayerRoot, entry: TarEntry, path: string, attributes: Attributes): void {
  const { linkName, name } = entry;
  if (linkName === "" || linkName.length > maxLinkTarget || linkName.includes("\0"))
    throw hostile(name, "is a symbolic link to no possible name");
  root.clear(path);
  symlinkSync(bytesOf(linkName), root.at(path));
  setLinkAttributes(root.at(path), attributes);
}

/** A second name for a file of the same layer. Its attributes are the file's, whatever this entry says. */
function placeLink(root: LayerRoot, entry: TarEntry, path: string): void {
  const target = root.findFile(layerPath(entry.linkName), entry.name);
  if (target === path) return;
  if (target === undefined || isWithin(path, target)) {
    throw hostile(entry.name, `is a hard link to ${printable(entry.linkName)}, which is no file of this layer`);
  }
  root.clear(path);
  try {
    linkSync(root.at(target), root.at(path));
  } catch (error) {
    if (!hasCode(error, "EMLINK")) throw error;
    throw new ImageError("too_large", `${printable(entry.linkName)} has more hard links than the file system can hold`, { cause: error });
  }
}

/** Replacing a folder by a link to a file inside it would remove the file first. */
function isWithin(folder: string, path: string): boolean {
  return path.startsWith(`${folder}/`);
}

function placeDevice(root: LayerRoot, entry: TarEntry, path: string): void {
  // Layers that were packed from an overlay as it is on disk.
  if (entry.type === "char" && entry.devMajor === 0 && entry.devMinor === 0) {
    root.clear(path);
    root.hide(path);
    return;
  }
  throw hostile(entry.name, `is a device (${entry.type} ${entry.devMajor}:${entry.devMinor}); containers get theirs from the runtime`);
}
