/** Replaces a file atomically: a reader sees the old or the new content, and a failed write changes nothing. */
import { createWriteStream } from "node:fs";
import { copyFile, lstat, open, readlink, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Account } from "#envd/accounts/accounts.ts";
import { codeOf } from "./file-failure.ts";
import { makeFolders } from "./make-folders.ts";
import type { Metadata, MetadataStore } from "./metadata.ts";

/** Temporary files of uploads, hidden from watchers. The name says whether the file existed before. */
export const underWay = { replacing: ".agentbox-upload-old-", creating: ".agentbox-upload-new-" } as const;
const newFileMode = 0o644;
const mostLinks = 40;
let counter = 0;

export interface WrittenFile {
  readonly path: string;
  readonly owner: Account;
  readonly contents: AsyncIterable<Uint8Array>;
  readonly metadata: Metadata;
}

export async function replaceFile(store: MetadataStore, file: WrittenFile): Promise<void> {
  const target = await throughLinks(file.path);
  await makeFolders(dirname(target), file.owner);
  const old = await stat(target).catch(() => undefined);
  if (old?.isDirectory() === true) throw Object.assign(new Error(`path is a directory: ${file.path}`), { code: "EISDIR" });
  if (old !== undefined && !old.isFile()) return writeInPlace(target, file);
  const prefix = old === undefined ? underWay.creating : underWay.replacing;
  const temporary = join(dirname(target), `${prefix}${process.hrtime.bigint().toString(36)}-${counter++}`);
  try {
    await writeNew(temporary, old === undefined ? newFileMode : old.mode & 0o7777, file);
    await store.replace(temporary, file.metadata);
    await rename(temporary, target).catch(async (error: unknown) => {
      // A file that is a mount point, such as /etc/hosts, cannot be replaced, only overwritten.
      if (codeOf(error) !== "EBUSY") throw error;
      await copyFile(temporary, target);
      await rm(temporary, { force: true });
    });
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function writeNew(path: string, mode: number, { owner, contents }: WrittenFile): Promise<void> {
  const handle = await open(path, "wx", 0o600);
  try {
    for await (const chunk of contents) await writeAll(handle, chunk);
    await handle.chown(owner.uid, owner.gid);
    await handle.chmod(mode);
  } finally {
    await handle.close();
  }
}

async function writeAll(handle: Awaited<ReturnType<typeof open>>, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length;) at += (await handle.write(chunk, at)).bytesWritten;
}

/** Devices and pipes. */
async function writeInPlace(path: string, { contents }: WrittenFile): Promise<void> {
  await pipeline(contents, createWriteStream(path, { flags: "w" }));
}

/** Resolves a path, even if its target does not exist yet. */
async function throughLinks(path: string): Promise<string> {
  let at = path;
  for (let links = 0; links < mostLinks; links++) {
    const real = await realpath(at).catch((error: unknown) => {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    });
    if (real !== undefined) return real;
    const found = await lstat(at).catch(() => undefined);
    if (found === undefined || !found.isSymbolicLink()) return at;
    at = resolve(dirname(at), await readlink(at));
  }
  throw Object.assign(new Error(`too many links at ${path}`), { code: "ELOOP" });
}
