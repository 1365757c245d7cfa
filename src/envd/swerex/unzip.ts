/** Takes a zip archive apart, as Python's `zipfile` would: by its directory, stored or deflated, and never outside of the target. */
import { mkdir, open, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { zlib } from "#envd/zlib.ts";
import { PythonError } from "./python-error.ts";

const signatures = { end: 0x06054b50, entry: 0x02014b50, file: 0x04034b50 } as const;
const endSize = 22;
const longestComment = 0xffff;
const deflated = 8;
/** A small archive can be a large file: no entry may be longer. */
const largestEntry = 1024 * 1024 * 1024;

interface Entry {
  readonly name: string;
  readonly method: number;
  readonly packedSize: number;
  readonly size: number;
  readonly at: number;
}

/** Resolves with the paths of what was written: folders and files. */
export async function unzip(archive: string, target: string): Promise<readonly string[]> {
  const file = await open(archive, "r");
  try {
    const written: string[] = [];
    for (const entry of await entriesOf(file)) {
      const path = join(target, safeName(entry.name));
      const isFolder = entry.name.endsWith("/");
      const first = await mkdir(isFolder ? path : dirname(path), { recursive: true });
      if (first !== undefined) written.push(first);
      if (isFolder) continue;
      const to = await open(path, "w", 0o644);
      try {
        await to.writeFile(await contentOf(file, entry));
      } finally {
        await to.close();
      }
      written.push(path);
    }
    return written;
  } finally {
    await file.close();
  }
}

async function entriesOf(file: FileHandle): Promise<readonly Entry[]> {
  const { size } = await file.stat();
  const tail = await bytesAt(file, Math.max(0, size - endSize - longestComment), Math.min(size, endSize + longestComment));
  const end = tail.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]));
  if (end < 0 || end + endSize > tail.length) throw bad("File is not a zip file");
  const [count, length, start] = [tail.readUInt16LE(end + 10), tail.readUInt32LE(end + 12), tail.readUInt32LE(end + 16)];
  if (count === 0xffff || start === 0xffffffff) throw bad("archives of more than 65,534 entries or 4 GiB are not read");
  const directory = await bytesAt(file, start, length);
  const entries: Entry[] = [];
  for (let at = 0; entries.length < count;) {
    if (at + 46 > directory.length || directory.readUInt32LE(at) !== signatures.entry) throw bad("Bad magic number for central directory");
    const names = [28, 30, 32].map((field) => directory.readUInt16LE(at + field));
    const [nameSize = 0] = names;
    entries.push({
      name: directory.toString("utf8", at + 46, at + 46 + nameSize),
      method: directory.readUInt16LE(at + 10),
      packedSize: directory.readUInt32LE(at + 20),
      size: directory.readUInt32LE(at + 24),
      at: directory.readUInt32LE(at + 42),
    });
    at += 46 + names.reduce((sum, one) => sum + one, 0);
  }
  return entries;
}

async function contentOf(file: FileHandle, { name, method, packedSize, size, at }: Entry): Promise<Buffer> {
  if (size > largestEntry) throw bad(`${name} has more than ${largestEntry} bytes`);
  const head = await bytesAt(file, at, 30);
  if (head.readUInt32LE(0) !== signatures.file) throw bad("Bad magic number for file header");
  const packed = await bytesAt(file, at + 30 + head.readUInt16LE(26) + head.readUInt16LE(28), packedSize);
  if (method === 0) return packed;
  if (method !== deflated) throw bad(`compression method ${method} of ${name} is not supported`);
  const inflate = promisify<Buffer, { readonly maxOutputLength: number }, Buffer>(zlib().inflateRaw);
  const content = await inflate(packed, { maxOutputLength: Math.max(1, size) }).catch(() => undefined);
  if (content?.length !== size) throw bad(`the content of ${name} is damaged`);
  return content;
}

async function bytesAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { size } = await file.stat();
  if (position + length > size) throw bad("the archive is cut short");
  const { buffer } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer;
}

/** As `zipfile` has it: no root, and no way up. */
function safeName(name: string): string {
  return name
    .split("/")
    .filter((part) => part !== "" && part !== "." && part !== "..")
    .join("/");
}

function bad(message: string): PythonError {
  return new PythonError("badZip", message);
}
