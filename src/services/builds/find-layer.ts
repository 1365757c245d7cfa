import { isDeepStrictEqual } from "node:util";
import type { Caller } from "#services/caller.ts";
import type { BuildBook } from "./build-book.ts";
import { ownerOf, type StoredLayer } from "./build-records.ts";
import type { LayerTaker } from "./layer-taker.ts";

/**
 * The layer that an earlier build of the same owner has for this key. Layers of others do not exist: what a RUN has fetched may be secret. A checkpoint that was
 * deleted is no layer any more.
 */
export async function findLayer(
  { book, layers }: { readonly book: Pick<BuildBook, "builds">; readonly layers: Pick<LayerTaker, "isThere"> },
  owner: Caller,
  key: string,
): Promise<StoredLayer | undefined> {
  const whose = ownerOf(owner);
  for (const build of book.builds()) {
    const found = build.layers.find((layer) => layer.key === key);
    if (found === undefined || !isDeepStrictEqual(build.owner, whose)) continue;
    if (found.checkpoint === undefined || (await layers.isThere(owner, found.checkpoint))) return found;
  }
  return undefined;
}
