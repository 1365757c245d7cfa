/** Checks an archive before it goes into a sandbox: clients are not trusted, and our messages say more than those of tar. */
import { isImageError } from "#images/image-error.ts";
import { compressionOf, decompress } from "#images/layer/decompress.ts";
import { printable } from "#images/layer/layer-path.ts";
import { defaultLimits } from "#images/layer/limits.ts";
import { TarReader } from "#images/layer/tar-reader.ts";
import type { TarEntry } from "#images/layer/tar-header.ts";

export interface ArchiveLimits {
  readonly maxEntries: number;
  /** Unpacked. */
  readonly maxBytes: number;
}

export const usualArchiveLimits: ArchiveLimits = { maxEntries: 100_000, maxBytes: 8 * 1024 ** 3 };

export type CheckedArchive = { readonly kind: "good"; readonly isGzip: boolean } | { readonly kind: "bad"; readonly why: string };

class BadArchive extends Error {
  override readonly name = "BadArchive";
}

export async function checkArchive(content: AsyncIterable<Buffer>, limits: ArchiveLimits = usualArchiveLimits): Promise<CheckedArchive> {
  const seen = { start: Buffer.alloc(0) };
  try {
    const plain = decompress(withStart(content, seen), { ...defaultLimits, maxBytes: limits.maxBytes });
    await checkEntries(new TarReader(plain), limits);
    const compression = compressionOf(seen.start);
    if (compression === "zstd") throw new BadArchive("it is compressed with zstd: send it plain or with gzip");
    return { kind: "good", isGzip: compression === "gzip" };
  } catch (error) {
    if (error instanceof BadArchive) return { kind: "bad", why: error.message };
    if (isImageError(error)) return { kind: "bad", why: error.code === "too_large" ? tooLarge(limits) : error.message };
    throw error;
  }
}

async function* withStart(content: AsyncIterable<Buffer>, seen: { start: Buffer }): AsyncGenerator<Buffer, void> {
  for await (const chunk of content) {
    if (seen.start.length < 4) seen.start = Buffer.concat([seen.start, chunk.subarray(0, 4)]);
    yield chunk;
  }
}

async function checkEntries(reader: TarReader, { maxEntries, maxBytes }: ArchiveLimits): Promise<void> {
  let bytes = 0;
  let entries = 0;
  for (let entry = await reader.next(); entry !== undefined; entry = await reader.next()) {
    entries += 1;
    bytes += entry.size;
    if (entries > maxEntries) throw new BadArchive(`it has more than ${maxEntries} files: leave some out (.dockerignore)`);
    if (bytes > maxBytes) throw new BadArchive(tooLarge({ maxBytes }));
    checkEntry(entry);
  }
  if (entries === 0) throw new BadArchive("it is empty");
}

function tooLarge({ maxBytes }: Pick<ArchiveLimits, "maxBytes">): string {
  return `unpacked it has more than ${maxBytes} bytes, or far more than its own size`;
}

function checkEntry({ name, type, linkName }: TarEntry): void {
  const problem = problemOfPath(name);
  if (problem !== undefined) throw new BadArchive(`its entry ${printable(name)} ${problem}`);
  if (type === "link" && problemOfPath(linkName) !== undefined) {
    throw new BadArchive(`its entry ${printable(name)} is a hard link to ${printable(linkName)}, out of the archive`);
  }
  if (type === "char" || type === "block" || type === "fifo")
    throw new BadArchive(`its entry ${printable(name)} is a device or pipe: only files, folders and links are copied`);
}

function problemOfPath(path: string): string | undefined {
  if (path.startsWith("/")) return "is an absolute path";
  if (path.includes("\0")) return "has a zero byte in its name";
  if (path.split("/").includes("..")) return "leads out of the archive";
  return path.length > 4000 ? "has too long a name" : undefined;
}
