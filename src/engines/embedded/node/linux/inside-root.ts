import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { systemCall } from "./libc.ts";
import { hasCode } from "#lib/native/files.ts";

const resolveInRoot = 0x10n;
const noMagicLinks = 0x2n;

/**
 * Reads a small file below `root`, which somebody else filled: links in it lead to places below `root` and nowhere else.
 * Undefined if there is no such file, or if it is something other than a file.
 */
export function readInsideRoot(root: string, path: string, maxBytes: number): string | undefined {
  const folder = openSync(root, constants.O_DIRECTORY);
  try {
    const file = openBelow(folder, path);
    try {
      return fstatSync(file).isFile() ? readStart(file, maxBytes) : undefined;
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

function openBelow(folder: number, path: string): number {
  // struct open_how: flags, mode, resolve. Not blocking: it may turn out to be a fifo.
  const how = Buffer.alloc(24);
  how.writeBigUInt64LE(BigInt(constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | 0x8_0000), 0);
  how.writeBigUInt64LE(resolveInRoot | noMagicLinks, 16);
  return systemCall("openat2", [folder, path, how, how.length], path);
}

function readStart(file: number, maxBytes: number): string {
  const buffer = Buffer.alloc(maxBytes);
  let size = 0;
  for (let read = -1; read !== 0 && size < maxBytes; size += read) read = readSync(file, buffer, size, maxBytes - size, null);
  return buffer.toString("utf8", 0, size);
}
