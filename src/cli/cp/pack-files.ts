/** Packs local files into a tar archive: content, modes, times and symbolic links, without owners. */
import { createReadStream } from "node:fs";
import { lstat, readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Stats } from "node:fs";
import type { Headers, Pack } from "tar-stream";
import { CliError } from "../failure.ts";

/** Files up to this size are read whole, several at once: for small files, most of the time is spent on opening them. */
const smallBytes = 256 * 1024;
const atOnce = 32;

export interface Packing {
  readonly pack: Pack;
  readonly onFile: (bytes: number) => void;
  readonly onSkipped: (path: string) => void;
}

interface Found {
  readonly path: string;
  readonly name: string;
  readonly stats: Stats;
  readonly bytes: Buffer | undefined;
  readonly linkname: string | undefined;
}

/** Packs the file or folder at `path` under `name`. */
export async function packPath(packing: Packing, path: string, name: string): Promise<void> {
  await packFound(packing, await look(path, name));
}

async function look(path: string, name: string): Promise<Found> {
  const stats = await lstat(path);
  const isSmall = stats.isFile() && stats.size <= smallBytes;
  return {
    path,
    name,
    stats,
    bytes: isSmall ? await readFile(path) : undefined,
    linkname: stats.isSymbolicLink() ? await readlink(path) : undefined,
  };
}

async function packFound(packing: Packing, found: Found): Promise<void> {
  const { path, name, stats, linkname } = found;
  const header: Headers = { name, mode: stats.mode & 0o7777, mtime: stats.mtime, uid: 0, gid: 0 };
  if (linkname !== undefined) return await entry(packing.pack, { ...header, type: "symlink", linkname });
  if (stats.isDirectory()) return await packFolder(packing, found, header);
  if (!stats.isFile()) return packing.onSkipped(path);
  if (found.bytes === undefined) await packLarge(packing.pack, header, found);
  else await entry(packing.pack, { ...header, size: found.bytes.length }, found.bytes);
  packing.onFile(stats.size);
}

async function packFolder(packing: Packing, { path, name }: Found, header: Headers): Promise<void> {
  await entry(packing.pack, { ...header, name: `${name}/`, type: "directory" });
  const names = await readdir(path);
  for (let at = 0; at < names.length; at += atOnce) {
    const some = names.slice(at, at + atOnce);
    for (const found of await Promise.all(some.map((child) => look(join(path, child), `${name}/${child}`))))
      await packFound(packing, found);
  }
}

async function packLarge(pack: Pack, header: Headers, { path, stats }: Found): Promise<void> {
  const sink = pack.entry({ ...header, size: stats.size });
  try {
    await pipeline(createReadStream(path, { end: stats.size - 1, highWaterMark: 1024 * 1024 }), sink);
  } catch (error) {
    if (/size mismatch/i.test((error as Error).message)) throw new CliError(`${path} shrank while it was read`);
    throw error;
  }
}

function entry(pack: Pack, header: Headers, bytes: Buffer = Buffer.alloc(0)): Promise<void> {
  return new Promise((resolve, reject) => {
    const sink = pack.entry(header, (error) => (error === undefined || error === null ? resolve() : reject(error)));
    if (bytes.length > 0) sink.write(bytes);
    sink.end();
  });
}

/** Joins pieces of an archive into larger ones: each becomes one message to the sandbox. */
export async function* joinedPieces(archive: AsyncIterable<Uint8Array>, size = 128 * 1024): AsyncGenerator<Buffer> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of archive) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes < size) continue;
    yield Buffer.concat(pieces);
    pieces = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(pieces);
}
