/**
 * The 512-byte blocks that a tar archive is made of. Names are bytes in tar and on Linux; in strings they stand here as
 * latin1, one character for one byte, so that none gets lost and comparing works.
 */
import { ImageError } from "../image-error.ts";

export const blockSize = 512;

export type TarType = "file" | "link" | "symlink" | "char" | "block" | "directory" | "fifo";

export interface TarEntry {
  /** latin1; as written, not checked. */
  readonly name: string;
  readonly type: TarType;
  /** Target of a link or symlink, latin1. */
  readonly linkName: string;
  /** Length of the content that follows; 0 for everything but files. */
  readonly size: number;
  /** Permission bits with setuid, setgid and sticky. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Seconds, with fractions. */
  readonly mtime: number;
  readonly devMajor: number;
  readonly devMinor: number;
  readonly xattrs: ReadonlyMap<string, Buffer>;
}

/** A block as it stands, before extended headers have their say. */
export interface RawHeader extends Omit<TarEntry, "type" | "xattrs"> {
  readonly flag: string;
}

/** POSIX flags, and GNU's letter for what it calls a contiguous file. */
export const typeOfFlag: Readonly<Record<string, TarType>> = {
  "0": "file",
  "\0": "file",
  "7": "file",
  "1": "link",
  "2": "symlink",
  "3": "char",
  "4": "block",
  "5": "directory",
  "6": "fifo",
};

const flagOfType = { file: "0", link: "1", symlink: "2", char: "3", block: "4", directory: "5", fifo: "6" } satisfies Record<
  TarType,
  string
>;

const ustarMagic = "ustar\0";
const checksumStart = 148;
const checksumEnd = 156;

export function isZeroBlock(block: Buffer): boolean {
  return block.every((byte) => byte === 0);
}

export function decodeHeader(block: Buffer): RawHeader {
  if (number(block, checksumStart, 8) !== checksum(block)) {
    throw new ImageError("broken_content", "the archive is damaged or not a tar: a header's checksum is wrong");
  }
  const prefix = block.toString("latin1", 257, 263) === ustarMagic ? text(block, 345, 155) : "";
  const name = text(block, 0, 100);
  return {
    name: prefix === "" ? name : `${prefix}/${name}`,
    flag: block.toString("latin1", 156, 157),
    linkName: text(block, 157, 100),
    size: number(block, 124, 12),
    mode: number(block, 100, 8) & 0o7777,
    uid: number(block, 108, 8),
    gid: number(block, 116, 8),
    mtime: number(block, 136, 12),
    devMajor: number(block, 329, 8),
    devMinor: number(block, 337, 8),
  };
}

/** What a plain header cannot hold, and must stand in an extended one. */
export function fitsHeader(entry: TarEntry): {
  name: boolean;
  linkName: boolean;
  size: boolean;
  uid: boolean;
  gid: boolean;
  mtime: boolean;
} {
  return {
    name: isShort(entry.name),
    linkName: isShort(entry.linkName),
    size: entry.size < 8 ** 11,
    uid: entry.uid < 8 ** 7,
    gid: entry.gid < 8 ** 7,
    mtime: Number.isInteger(entry.mtime) && entry.mtime >= 0 && entry.mtime < 8 ** 11,
  };
}

/** The block for an entry; what does not fit is cut, because an extended header stands before it. */
export function encodeHeader(entry: Omit<TarEntry, "type" | "xattrs"> & { readonly type: TarType | "pax" }): Buffer {
  const block = Buffer.alloc(blockSize);
  const octal = (value: number, at: number, length: number): void => {
    const digits = Math.max(0, Math.floor(value))
      .toString(8)
      .padStart(length - 1, "0");
    block.write(digits.slice(-(length - 1)), at, "latin1");
  };
  block.write(entry.name.slice(0, 100), 0, "latin1");
  octal(entry.mode, 100, 8);
  octal(entry.uid, 108, 8);
  octal(entry.gid, 116, 8);
  octal(entry.size, 124, 12);
  octal(entry.mtime, 136, 12);
  block.write(entry.type === "pax" ? "x" : flagOfType[entry.type], 156, "latin1");
  block.write(entry.linkName.slice(0, 100), 157, "latin1");
  block.write(`${ustarMagic}00`, 257, "latin1");
  octal(entry.devMajor, 329, 8);
  octal(entry.devMinor, 337, 8);
  octal(checksum(block), checksumStart, 7);
  return block;
}

/** The sum over the block, with the field of the sum itself read as spaces. */
function checksum(block: Buffer): number {
  let sum = 0;
  for (let index = 0; index < blockSize; index++) sum += index >= checksumStart && index < checksumEnd ? 0x20 : (block[index] ?? 0);
  return sum;
}

function text(block: Buffer, at: number, length: number): string {
  const end = block.indexOf(0, at);
  return block.toString("latin1", at, end === -1 || end > at + length ? at + length : end);
}

/** Octal digits, or GNU's binary form, which has the highest bit set. */
function number(block: Buffer, at: number, length: number): number {
  const first = block[at] ?? 0;
  if ((first & 0x80) !== 0) return binaryNumber(block, at, length);
  const digits = block
    .toString("latin1", at, at + length)
    .replaceAll("\0", " ")
    .trim();
  if (digits === "") return 0;
  if (!/^[0-7]+$/.test(digits))
    throw new ImageError("broken_content", `the archive is damaged or not a tar: ${JSON.stringify(digits)} should be an octal number`);
  return Number.parseInt(digits, 8);
}

function binaryNumber(block: Buffer, at: number, length: number): number {
  const negative = ((block[at] ?? 0) & 0x40) !== 0;
  let value = BigInt((block[at] ?? 0) & 0x7f);
  for (let index = 1; index < length; index++) value = (value << 8n) | BigInt(block[at + index] ?? 0);
  if (negative) value -= 1n << BigInt(8 * length - 1);
  const result = Number(value);
  if (!Number.isSafeInteger(result))
    throw new ImageError("broken_content", "the archive is damaged: a number in a header is beyond all bounds");
  return result;
}

function isShort(value: string): boolean {
  return /^[\x20-\x7e]{0,100}$/.test(value);
}
