/** The files of an OCI layout that is a folder on disk. */
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ContentStore } from "../content-store/content-store.ts";
import { type ImageFiles, promisedDigest, type StoredFile } from "./image-files.ts";

export function folderFiles(store: ContentStore, folder: string): ImageFiles {
  return {
    read: (name) => readFile(join(folder, name)).catch(() => undefined),
    store: (name) => storeFile(store, folder, name),
  };
}

/** Only names of blobs lead anywhere: others could lead out of the folder. */
async function storeFile(store: ContentStore, folder: string, name: string): Promise<StoredFile | undefined> {
  const digest = promisedDigest(name);
  const path = join(folder, name);
  const found = digest === undefined ? undefined : await stat(path).catch(() => undefined);
  if (digest === undefined || found?.isFile() !== true) return undefined;
  if (await store.blobs.has(digest)) return { digest, size: found.size };
  await using writer = await store.blobs.write();
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) await writer.write(chunk as Buffer);
  return { digest: await writer.commit(digest), size: writer.written };
}
