/** File operations that Node lacks: advisory locks, exchanges, special files and extended attributes. Symbolic links are never followed. */
import { cString, systemCall } from "./libc.ts";

const flockCall = systemCall("int flock(int fd, int operation)");
const mknodCall = systemCall("int mknod(const uint8_t *path, uint32_t mode, uint64_t dev)");
const lsetxattr = systemCall("int64_t lsetxattr(const uint8_t *path, const uint8_t *name, const uint8_t *value, size_t size, int flags)");
const lgetxattr = systemCall("int64_t lgetxattr(const uint8_t *path, const uint8_t *name, uint8_t *value, size_t size)");
const llistxattr = systemCall("int64_t llistxattr(const uint8_t *path, uint8_t *list, size_t size)");

const renameat2Call = systemCall("int renameat2(int fromFolder, const uint8_t *from, int toFolder, const uint8_t *to, uint32_t flags)");

/** AT_FDCWD: paths are as the process has them. */
const ownFolder = -100;
/** RENAME_EXCHANGE. */
const exchangeFlag = 2;

const lockOperations = { shared: 1, exclusive: 2 } as const;
const withoutWaiting = 4;

/** The kernel's own limit for a value and for a list of names. */
const maxXattrBytes = 65_536;

export type LockMode = keyof typeof lockOperations;

/**
 * Takes the lock of an open file if no other holder excludes `mode`; says whether it did. The lock belongs
 * to this opening of the file, so it also works between two parts of one process, and ends with it: at close, or when
 * the process dies in whatever way.
 */
export function tryLockFile(fd: number, mode: LockMode): boolean {
  try {
    flockCall(`fd ${fd}`, fd, lockOperations[mode] | withoutWaiting);
    return true;
  } catch (error) {
    if (hasCode(error, "EAGAIN", "EWOULDBLOCK")) return false;
    throw error;
  }
}

/** Makes a special file: `mode` holds its type and permissions. Device 0:0 is overlayfs' sign for "deleted". */
export function makeNode(path: Buffer, mode: number, device = 0): void {
  mknodCall(path.toString(), cString(path), mode, device);
}

/** Each of the two gets the other's name, in one step: no moment has neither. Both must be in one file system. */
export function exchangePaths(one: string, other: string): void {
  renameat2Call(`${one} ${other}`, ownFolder, cString(one), ownFolder, cString(other), exchangeFlag);
}

export function setXattr(path: Buffer, name: string, value: Buffer): void {
  lsetxattr(`${path.toString()} ${name}`, cString(path), cString(name), value, value.length, 0);
}

/** The value of an extended attribute; undefined if the file has none of this name, or its file system has none at all. */
export function getXattr(path: Buffer, name: string): Buffer | undefined {
  const value = Buffer.allocUnsafe(maxXattrBytes);
  try {
    const size = lgetxattr(`${path.toString()} ${name}`, cString(path), cString(name), value, value.length);
    return Buffer.from(value.subarray(0, size));
  } catch (error) {
    if (hasCode(error, "ENODATA", "ENOTSUP", "EOPNOTSUPP")) return undefined;
    throw error;
  }
}

export function listXattrs(path: Buffer): string[] {
  const list = Buffer.allocUnsafe(maxXattrBytes);
  try {
    const size = llistxattr(path.toString(), cString(path), list, list.length);
    return list.subarray(0, size).toString().split("\0").slice(0, -1);
  } catch (error) {
    if (hasCode(error, "ENOTSUP", "EOPNOTSUPP")) return [];
    throw error;
  }
}

/** True when `error` is a system error with one of these codes, Node's or ours. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}
