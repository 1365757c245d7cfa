/** Where on the disk the images are that no registry has: for backups. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { hexOf } from "../digest.ts";
import type { ContentStore } from "./content-store.ts";
import { readParts } from "./image-parts.ts";
import { isOnlyHere } from "./image-records.ts";

export interface ImportedParts {
  readonly names: readonly string[];
  /** Files and folders, relative to the store's own: copied elsewhere with all attributes, they are a store that holds these images. */
  readonly paths: readonly string[];
}

/** Runs `work` while nothing of the store is removed. */
export function withImportedParts<T>(
  store: ContentStore,
  work: (parts: ImportedParts) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  return store.adding(async () => work(await importedParts(store)), signal);
}

async function importedParts(store: ContentStore): Promise<ImportedParts> {
  const imported = (await store.images.list()).filter(isOnlyHere);
  const names = new Set(imported.map(({ name }) => name));
  const paths = new Set(["version"]);
  for (const image of imported) {
    paths.add(store.images.fileOf(image.name));
    const parts = await readParts(store, image.manifest);
    for (const digest of [image.digest, image.manifest, image.id]) paths.add(`blobs/${hexOf(digest)}`);
    for (const { chainId } of parts?.layers ?? []) paths.add(`layers/${hexOf(chainId)}`);
  }
  return { names: [...names], paths: await thoseThere(store.folder, paths) };
}

/** The digest of an image may be of an index, which is not always kept. */
async function thoseThere(folder: string, paths: ReadonlySet<string>): Promise<string[]> {
  const there: string[] = [];
  for (const path of paths) if ((await stat(join(folder, path)).catch(() => undefined)) !== undefined) there.push(path);
  return there.sort();
}
