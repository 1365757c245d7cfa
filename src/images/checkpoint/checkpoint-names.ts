/** Images of checkpoints by their names, whatever their digests are. */
import type { ContentStore } from "../content-store/content-store.ts";
import { readParts } from "../content-store/image-parts.ts";
import type { StoredImage } from "../content-store/image-records.ts";
import { parseReference, repositoryName } from "../reference.ts";
import type { SavedCheckpoint } from "./save-checkpoint.ts";

/** Undefined if there is none, or something of it is missing. */
export async function findCheckpoint(store: ContentStore, name: string): Promise<SavedCheckpoint | undefined> {
  const record = (await listCheckpoints(store)).find((image) => nameOf(image) === name);
  const top = record === undefined ? undefined : (await readParts(store, record.manifest))?.layers.at(-1);
  if (record === undefined || top === undefined || !(await store.layers.has(top.chainId))) return undefined;
  return { record, bytes: await store.layers.diskBytes(top.chainId) };
}

export async function listCheckpoints(store: ContentStore): Promise<readonly StoredImage[]> {
  return (await store.images.list()).filter(({ source }) => source === "checkpoint");
}

export function nameOf({ name }: Pick<StoredImage, "name">): string {
  return repositoryName(parseReference(name));
}
