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
  const known = Array.from(book.builds()).flatMap(({ owner: of, createdAt, layers: all }) => {
    const found = all.find((layer) => layer.key === key);
    return found === undefined || !isDeepStrictEqual(of, whose) ? [] : [{ createdAt, found }];
  });
  // The newest first: its image may have variables that an older one for the same steps lacks.
  for (const { found } of known.toSorted((one, other) => one.createdAt.localeCompare(other.createdAt)).toReversed()) {
    if (found.checkpoint === undefined || (await layers.isThere(owner, found.checkpoint))) return found;
  }
  return undefined;
}
