/** Puts one entry of a layer's archive on disk. */
import { closeSync, constants, fchmodSync, fchownSync, futimesSync, linkSync, openSync, symlinkSync, writeSync } from "node:fs";
import { hasCode, makeNode } from "#lib/native/files.ts";
import { ImageError } from "../image-error.ts";
import { type Attributes, attributesOf, setAttributes, setLinkAttributes, setXattrs } from "./attributes.ts";
import { bytesOf, hostile, joinPath, layerPath, printable, whiteoutOf } from "./layer-path.ts";
import type { LayerRoot } from "./layer-root.ts";
import type { TarEntry } from "./tar-header.ts";
import type { TarReader } from "./tar-reader.ts";

const newFile = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const fifoType = 0o010000;
const maxLinkTarget = 4095;

export async function applyEntry(root: LayerRoot, entry: TarEntry, content: TarReader): Promise<void> {
  const names = layerPath(entry.name);
  const base = names.pop();
  if (base === undefined) {
    if (entry.type !== "directory") throw hostile(entry.name, "would put something else in the place of the layer's root");
    root.makeFolder("", attributesOf(entry));
    return;
  }
  const whiteout = whiteoutOf(base, entry.name);
  if (whiteout?.kind === "ignore") return;
  const folder = root.enter(names, entry.name);
  if (whiteout?.kind === "hide-all") root.hideAllBelow(folder);
  else if (whiteout?.kind === "hide") root.hide(joinPath(folder, whiteout.name));
  else await place(root, entry, joinPath(folder, base), content);
}

async function place(root: LayerRoot, entry: TarEntry, path: string, content: TarReader): Promise<void> {
  const attributes = attributesOf(entry);
  switch (entry.type) {
    case "directory":
      root.makeFolder(path, attributes);
      return;
    case "file":
      root.clear(path);
      await writeFile(root.at(path), attributes, content);
      return;
    case "symlink":
      placeSymlink(root, entry, path, attributes);
      return;
    case "link":
      placeLink(root, entry, path);
      return;
    case "fifo":
      root.clear(path);
      makeNode(root.at(path), fifoType);
      setAttributes(root.at(path), attributes);
      return;
    case "char":
    case "block":
      placeDevice(root, entry, path);
  }
}

async function writeFile(path: Buffer, { uid, gid, mode, mtime, xattrs }: Attributes, content: TarReader): Promise<void> {
  const fd = openSync(path, newFile, 0o600);
  try {
    for (let chunk = await content.read(); chunk !== undefined; chunk = await content.read()) writeAll(fd, chunk);
    fchownSync(fd, uid, gid);
    fchmodSync(fd, mode);
    if (xattrs.size > 0) setXattrs(path, xattrs);
    futimesSync(fd, mtime, mtime);
  } finally {
    closeSync(fd);
  }
}

function writeAll(fd: number, chunk: Buffer): void {
  for (let written = 0; written < chunk.length;) written += writeSync(fd, chunk, written);
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
