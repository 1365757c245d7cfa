/**
 * Paths in a volume. What a sandbox wrote there is untrusted: links are followed as if the volume were the root, and what a name stands for is taken
 * from an open descriptor, never looked up twice.
 */
import { closeSync, constants, openSync } from "node:fs";
import { VolumeFileError } from "#engine-port/volumes.ts";
import { asInRoot, openBelow, stayBelow } from "#engines/embedded/node/linux/open-below.ts";
import { hasCode } from "#lib/native/files.ts";

const oPath = 0x20_0000;
const maxLength = 4096;

/** The parts of an absolute path. Throws `invalid`. */
export function partsOf(path: string): readonly string[] {
  if (!path.startsWith("/"))
    throw new VolumeFileError("invalid", `path must be absolute below the volume, such as /data/a.txt, not ${JSON.stringify(path)}`);
  if (Buffer.byteLength(path) > maxLength) throw new VolumeFileError("invalid", `path must have at most ${maxLength} bytes`);
  if (path.includes("\0")) throw new VolumeFileError("invalid", "path has NUL in it");
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw new VolumeFileError("invalid", "path must not have '..' in it");
  if (parts.some((part) => Buffer.byteLength(part) > 255)) throw new VolumeFileError("invalid", "path has a part of more than 255 bytes");
  return parts;
}

/** The folder that a path is in, open, and its last part: empty for the volume itself. */
export interface Place {
  readonly folder: number;
  readonly name: string;
  /** As answers show it. */
  readonly path: string;
}

/** Runs `use` with the folder above the path open. Throws `not_found` where there is none. */
export async function withPlace<T>(top: string, path: string, use: (place: Place) => T | Promise<T>): Promise<T> {
  const parts = partsOf(path);
  const above = parts.slice(0, -1).join("/");
  return withOpen(openSync(top, constants.O_DIRECTORY), (root) => {
    const folder = toldPlainly(path, () =>
      openBelow(root, above === "" ? "." : above, { flags: constants.O_DIRECTORY, resolve: asInRoot }),
    );
    return withOpen(folder, (opened) => use({ folder: opened, name: parts.at(-1) ?? "", path: `/${parts.join("/")}` }));
  });
}

/** Opens what has the name itself, not what a link leads to. */
export function openNamed({ folder, name, path }: Place, flags: number = oPath): number {
  const how = { flags: flags | constants.O_NOFOLLOW, resolve: name === "" ? asInRoot : stayBelow };
  return toldPlainly(path, () => openBelow(folder, name === "" ? "." : name, how));
}

/** Opens a file to be read, links followed below `top`. Nothing blocks: it may turn out to be a FIFO. */
export function openToRead(top: string, path: string): number {
  const parts = partsOf(path);
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
  const root = openSync(top, constants.O_DIRECTORY);
  try {
    return toldPlainly(path, () => openBelow(root, parts.join("/") || ".", { flags, resolve: asInRoot }));
  } finally {
    closeSync(root);
  }
}

/** Node names files by paths; this one leads to what is open, whatever has its name by now. */
export function pathOf(descriptor: number, name = ""): string {
  return `/proc/self/fd/${descriptor}${name === "" ? "" : `/${name}`}`;
}

export async function withOpen<T>(descriptor: number, use: (descriptor: number) => T | Promise<T>): Promise<T> {
  try {
    return await use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

export function toldPlainly<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw plainly(path, error);
  }
}

/** What the kernel said, without a path of this machine. Anything else is a defect, and stays as it is. */
export function plainly(path: string, error: unknown): unknown {
  const shown = JSON.stringify(path);
  const told = (failure: VolumeFileError["failure"], message: string): VolumeFileError =>
    new VolumeFileError(failure, message, { cause: error });
  if (hasCode(error, "ENOENT", "ENXIO", "ELOOP", "EXDEV", "EACCES")) return told("not_found", `there is no ${shown} in the volume`);
  if (hasCode(error, "ENOTDIR")) return told("not_found", `there is no ${shown} in the volume: a part of it is not a folder`);
  if (hasCode(error, "EEXIST")) return told("busy", `${shown} is there already`);
  if (hasCode(error, "EISDIR")) return told("busy", `${shown} is a folder`);
  if (hasCode(error, "ENOSPC", "EDQUOT", "EFBIG")) return told("no_space", `the volume is full: ${shown} does not fit`);
  if (hasCode(error, "ENAMETOOLONG", "EILSEQ", "EINVAL")) return told("invalid", `${shown} cannot be a path in a volume`);
  return error;
}
