/**
 * Unpacks a tar archive from a sandbox into a local folder. The sandbox is not trusted: no entry may point outside the requested folder, neither by its
 * name nor through a link that an earlier entry created. So links are created last, and every folder is checked before files are written into it.
 */
import { chmod, link, lstat, mkdir, open, realpath, rm, symlink, utimes, lutimes } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { buffer } from "node:stream/consumers";
import type { Entry, Extract, Headers } from "tar-stream";
import { CliError } from "../failure.ts";
import { type Arrival, hostile, renamedEntry } from "./copy-places.ts";

const smallBytes = 256 * 1024;
const atOnce = 16;
/** Setuid and setgid bits are not copied out of a sandbox. */
const keptMode = 0o777;

export interface Unpacking {
  /** The name of the entries in the archive, and their target. */
  readonly from: string;
  readonly to: Arrival;
  readonly onFile: (bytes: number) => void;
  readonly onSkipped: (path: string) => void;
}

export class FileUnpacker {
  readonly #wanted: Unpacking;
  readonly #safeFolders = new Set<string>();
  readonly #writes = new Set<Promise<void>>();
  readonly #folders: { path: string; header: Headers }[] = [];
  readonly #links: { path: string; header: Headers }[] = [];
  #root = "";
  #failure: unknown;

  constructor(wanted: Unpacking) {
    this.#wanted = wanted;
  }

  async unpack(archive: Extract): Promise<void> {
    // Take the iterator before the first await: an archive drops entries that arrive while it has none.
    const entries = archive[Symbol.asyncIterator]();
    this.#root = await realpath(this.#wanted.to.folder);
    for await (const entry of { [Symbol.asyncIterator]: () => entries }) {
      await this.#take(entry);
      entry.resume();
      if (this.#failure !== undefined) break;
    }
    await Promise.all(this.#writes);
    if (this.#failure !== undefined) throw this.#failure;
    for (const one of this.#links) await this.#makeLink(one.path, one.header);
    // Innermost folders first: writing into a folder changes its time, and its mode may forbid writing.
    for (const { path, header } of this.#folders.toReversed()) await settle(path, header);
  }

  async #take(entry: Entry): Promise<void> {
    const { header } = entry;
    const path = this.#pathOf(header.name);
    if (header.type === "directory") return await this.#makeFolder(path, header);
    if (header.type === "symlink" || header.type === "link") return void this.#links.push({ path, header });
    if (header.type !== "file" && header.type !== "contiguous-file") return this.#wanted.onSkipped(header.name);
    await this.#checkFolder(dirname(path), header.name);
    if ((header.size ?? 0) > smallBytes) await this.#write(path, header, entry);
    else await this.#later(this.#write(path, header, [await buffer(entry)]));
  }

  #pathOf(name: string): string {
    return join(this.#root, renamedEntry(name, this.#wanted.from, this.#wanted.to.name));
  }

  /** Continues with the next entry while this one is written. */
  async #later(work: Promise<void>): Promise<void> {
    const write: Promise<void> = work
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => this.#writes.delete(write));
    this.#writes.add(write);
    if (this.#writes.size >= atOnce) await Promise.race(this.#writes);
  }

  async #makeFolder(path: string, header: Headers): Promise<void> {
    if (path !== this.#root) {
      await this.#checkFolder(dirname(path), header.name);
      await mkdir(path).catch(async (error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST" || !(await lstat(path)).isDirectory()) throw new CliError(`${path} cannot be made: ${error.message}`);
      });
      // Waits until the file is complete.
      await chmod(path, 0o700);
    }
    if (path !== this.#root) this.#folders.push({ path, header });
  }

  async #checkFolder(folder: string, name: string): Promise<void> {
    if (this.#safeFolders.has(folder)) return;
    const real = await realpath(folder).catch(() => "");
    if (real !== this.#root && !real.startsWith(this.#root + (this.#root === sep ? "" : sep))) throw new CliError(hostile(name));
    this.#safeFolders.add(folder);
  }

  async #write(path: string, header: Headers, content: AsyncIterable<Uint8Array> | readonly Buffer[]): Promise<void> {
    await rm(path, { force: true });
    const file = await open(path, "wx", 0o600);
    try {
      for await (const piece of content) await file.writeFile(piece);
      await file.chmod((header.mode ?? 0o644) & keptMode);
      await file.utimes(header.mtime ?? new Date(), header.mtime ?? new Date());
    } finally {
      await file.close();
    }
    this.#wanted.onFile(header.size ?? 0);
  }

  async #makeLink(path: string, header: Headers): Promise<void> {
    await this.#checkFolder(dirname(path), header.name);
    await rm(path, { force: true });
    if (header.type === "symlink") {
      await symlink(header.linkname ?? "", path);
      await lutimes(path, header.mtime ?? new Date(), header.mtime ?? new Date());
      return;
    }
    const target = this.#pathOf(header.linkname ?? "");
    await this.#checkFolder(dirname(target), header.linkname ?? "");
    if (!(await lstat(target)).isFile()) throw new CliError(hostile(header.linkname ?? ""));
    await link(target, path);
  }
}

async function settle(path: string, { mode = 0o755, mtime = new Date() }: Headers): Promise<void> {
  await utimes(path, mtime, mtime);
  await chmod(path, mode & keptMode);
}
