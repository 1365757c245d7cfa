/** Owner, permissions, times and extended attributes of one file, and how they are put on. */
import { chmodSync, chownSync, lchownSync, lutimesSync, type Stats, utimesSync } from "node:fs";
import { getXattr, hasCode, listXattrs, setXattr } from "#lib/native/files.ts";
import { ImageError } from "../image-error.ts";
import { printable } from "./layer-path.ts";
import type { TarEntry } from "./tar-header.ts";

export interface Attributes {
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
  /** Seconds. */
  readonly mtime: number;
  readonly xattrs: ReadonlyMap<string, Buffer>;
}

const none: ReadonlyMap<string, Buffer> = new Map();

/** For folders that no layer describes. */
export const plainFolder: Attributes = { uid: 0, gid: 0, mode: 0o755, mtime: 0, xattrs: none };

/** The kernel's "no such id". */
const noId = 2 ** 32 - 1;
/** Far beyond every real date, and within what file systems can write down. */
const maxTime = 2 ** 33;

export function attributesOf(entry: TarEntry): Attributes {
  const { uid, gid, mode, name } = entry;
  for (const id of [uid, gid]) {
    if (!Number.isInteger(id) || id < 0 || id >= noId)
      throw new ImageError("broken_content", `the owner ${id} of ${printable(name)} is not a user or group id`);
  }
  return { uid, gid, mode, mtime: Math.min(Math.max(entry.mtime, -maxTime), maxTime), xattrs: allowed(entry.xattrs) };
}

/** What a file on disk has. */
export function attributesAt(path: Buffer, stat: Stats): Attributes {
  const xattrs = new Map<string, Buffer>();
  for (const name of listXattrs(path)) {
    const value = isAllowed(name) ? getXattr(path, name) : undefined;
    if (value !== undefined) xattrs.set(name, value);
  }
  return { uid: stat.uid, gid: stat.gid, mode: stat.mode & 0o7777, mtime: stat.mtimeMs / 1000, xattrs };
}

/** Order matters: a change of owner takes setuid bits and capabilities away. */
export function setAttributes(path: Buffer, { uid, gid, mode, mtime, xattrs }: Attributes): void {
  chownSync(path, uid, gid);
  chmodSync(path, mode);
  setXattrs(path, xattrs);
  utimesSync(path, mtime, mtime);
}

export function setLinkAttributes(path: Buffer, { uid, gid, mtime }: Attributes): void {
  lchownSync(path, uid, gid);
  lutimesSync(path, mtime, mtime);
}

export function setXattrs(path: Buffer, xattrs: ReadonlyMap<string, Buffer>): void {
  for (const [name, value] of xattrs) {
    try {
      setXattr(path, name, value);
    } catch (error) {
      // Without capabilities a program behaves differently; a note of some tool's own may be lost.
      if (!name.startsWith("user.") || !hasCode(error, "ENOTSUP", "EOPNOTSUPP", "EPERM")) throw error;
    }
  }
}

function allowed(xattrs: ReadonlyMap<string, Buffer>): ReadonlyMap<string, Buffer> {
  return xattrs.size === 0 ? none : new Map([...xattrs].filter(([name]) => isAllowed(name)));
}

/**
 * The others speak to this machine, not to the image's programs: overlayfs would follow `trusted.overlay.redirect` to
 * wherever it points, and security labels mean something else on every machine.
 */
function isAllowed(name: string): boolean {
  return name === "security.capability" || (name.startsWith("user.") && !name.startsWith("user.overlay."));
}
