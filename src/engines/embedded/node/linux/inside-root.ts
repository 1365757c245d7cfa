import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { asInRoot, openBelow } from "./open-below.ts";
import { hasCode } from "#lib/native/files.ts";

/** Gives a place in the tree and opens nothing there: a FIFO does not block, a device is not touched. */
const pathOnly = 0x20_0000;

/**
 * Reads a small file below `root`, a folder with untrusted contents: links in it are resolved below `root` and cannot leave it.
 * Undefined if there is no such file, or if it is not a regular file.
 */
export function readInsideRoot(root: string, path: string, maxBytes: number): string | undefined {
  // Not blocking: it may turn out to be a FIFO.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
  return openedInsideRoot(root, path, flags, (file) => (fstatSync(file).isFile() ? readStart(file, maxBytes) : undefined));
}

/** What is at a path below `root`, links followed as above; undefined if there is nothing. */
export function statInsideRoot(root: string, path: string): Stats | undefined {
  return openedInsideRoot(root, path, pathOnly, (file) => fstatSync(file));
}

function openedInsideRoot<T>(root: string, path: string, flags: number, use: (file: number) => T): T | undefined {
  const folder = openSync(root, constants.O_DIRECTORY);
  try {
    const file = openBelow(folder, path, { flags, resolve: asInRoot });
    try {
      return use(file);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR", "ELOOP", "EACCES", "ENXIO")) return undefined;
    throw error;
  } finally {
    closeSync(folder);
  }
}

function readStart(file: number, maxBytes: number): string {
  const buffer = Buffer.alloc(maxBytes);
  let size = 0;
  for (let read = -1; read !== 0 && size < maxBytes; size += read) read = readSync(file, buffer, size, maxBytes - size, null);
  return buffer.toString("utf8", 0, size);
}
