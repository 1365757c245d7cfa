/**
 * Reads tar archives as a stream: the forms of POSIX (ustar, pax) and GNU (long names, large numbers). Sparse files,
 * multi-volume archives and what else tar has seen in its life are refused, not misread.
 *
 * Why our own: extended attributes are bytes, and the parsers at hand decode them as text, which destroys file capabilities.
 */
import { ImageError } from "../image-error.ts";
import { ByteReader } from "./byte-reader.ts";
import { type PaxRecords, parsePax, paxName, paxNumber, xattrPrefix } from "./pax.ts";
import { blockSize, decodeHeader, isZeroBlock, type RawHeader, type TarEntry, typeOfFlag } from "./tar-header.ts";

/** A header that describes the next entry is kept in memory; this is far more than names and attributes need. */
const maxDescriptionBytes = 1024 * 1024;

interface Described {
  pax?: PaxRecords;
  name?: string;
  linkName?: string;
}

const noRecords: PaxRecords = new Map();

export class TarReader {
  readonly #bytes: ByteReader;
  /** Unread content of the current entry, and the padding after it. */
  #left = 0;
  #padding = 0;

  constructor(source: AsyncIterable<Buffer>) {
    this.#bytes = new ByteReader(source);
  }

  /** The next entry; its content can be read until the one after it is asked for. Undefined at the end, when all is read. */
  async next(): Promise<TarEntry | undefined> {
    const described: Described = {};
    for (;;) {
      await this.#bytes.skip(this.#left + this.#padding);
      this.#left = 0;
      this.#padding = 0;
      const block = await this.#bytes.take(blockSize);
      if (block === undefined || isZeroBlock(block)) {
        // The digest of an archive counts everything, also what stands after its end.
        await this.#bytes.drain();
        return undefined;
      }
      const header = decodeHeader(block);
      if (await this.#describes(header, described)) continue;
      const entry = combine(header, described);
      this.#expect(entry.size);
      return entry;
    }
  }

  /** Some more content of the present entry; undefined when it is all read. The bytes are valid until the next call. */
  async read(): Promise<Buffer | undefined> {
    if (this.#left === 0) return undefined;
    const chunk = await this.#bytes.some(this.#left);
    this.#left -= chunk.length;
    return chunk;
  }

  #expect(size: number): void {
    this.#left = size;
    this.#padding = (blockSize - (size % blockSize)) % blockSize;
  }

  /** Takes in a header that only speaks about the next one; says whether it was such. */
  async #describes(header: RawHeader, described: Described): Promise<boolean> {
    const { flag, size } = header;
    if (flag !== "x" && flag !== "g" && flag !== "L" && flag !== "K") return false;
    if (size > maxDescriptionBytes)
      throw new ImageError("too_large", `an extended header of the archive has ${size} bytes; at most ${maxDescriptionBytes} are read`);
    this.#expect(size);
    const data = Buffer.from((size === 0 ? undefined : await this.#bytes.take(size)) ?? Buffer.alloc(0));
    this.#left = 0;
    if (flag === "x") described.pax = parsePax(data);
    else if (flag === "L") described.name = untilZero(data);
    else if (flag === "K") described.linkName = untilZero(data);
    // "g" holds for the whole archive: comments of `git archive` in practice, and no layer writer uses it.
    return true;
  }
}

function combine(header: RawHeader, { pax = noRecords, ...gnu }: Described): TarEntry {
  const name = paxName(pax, "path") ?? gnu.name ?? header.name;
  const type = typeOf(header, name);
  refuseSparse(pax, name);
  const size = checkedSize(paxNumber(pax, "size", header.size), name);
  return {
    name,
    type,
    linkName: paxName(pax, "linkpath") ?? gnu.linkName ?? header.linkName,
    // Other types have no content, whatever their header says.
    size: type === "file" ? size : 0,
    mode: header.mode,
    uid: paxNumber(pax, "uid", header.uid),
    gid: paxNumber(pax, "gid", header.gid),
    mtime: paxNumber(pax, "mtime", header.mtime),
    devMajor: header.devMajor,
    devMinor: header.devMinor,
    xattrs: xattrsOf(pax),
  };
}

function refuseSparse(pax: PaxRecords, name: string): void {
  if (![...pax.keys()].some((key) => key.startsWith("GNU.sparse."))) return;
  throw new ImageError("unsupported", `the archive holds ${JSON.stringify(name)} as a sparse file; pack it without --sparse`);
}

function typeOf(header: RawHeader, name: string): TarEntry["type"] {
  // Before POSIX a folder was a file whose name ends in a slash.
  if ((header.flag === "0" || header.flag === "\0") && name.endsWith("/")) return "directory";
  const type = typeOfFlag[header.flag];
  if (type !== undefined) return type;
  throw new ImageError(
    "unsupported",
    `the archive's entry ${JSON.stringify(name)} is of type ${JSON.stringify(header.flag)}, which layers do not use (S is a sparse file)`,
  );
}

function checkedSize(size: number, name: string): number {
  if (Number.isSafeInteger(size) && size >= 0) return size;
  throw new ImageError("broken_content", `the archive is damaged: ${JSON.stringify(name)} has a size of ${size}`);
}

function xattrsOf(pax: PaxRecords): ReadonlyMap<string, Buffer> {
  let xattrs: Map<string, Buffer> | undefined;
  for (const [key, value] of pax) {
    if (!key.startsWith(xattrPrefix)) continue;
    xattrs ??= new Map<string, Buffer>();
    xattrs.set(key.slice(xattrPrefix.length), value);
  }
  return xattrs ?? noRecords;
}

function untilZero(data: Buffer): string {
  const end = data.indexOf(0);
  return data.toString("latin1", 0, end === -1 ? data.length : end);
}
