/** Deletes unused images: first names, the longest unused first, then all content that no name leads to. */
import type { Digest } from "../digest.ts";
import { chainIds, parseConfig } from "../image-config.ts";
import { parseManifest } from "../manifest.ts";
import type { ContentStore } from "./content-store.ts";
import { readParts } from "./image-parts.ts";
import { isOnlyHere, type StoredImage } from "./image-records.ts";

export interface GarbageOptions {
  /** Images in use, by digest or id, beside those that are held on disk. */
  readonly inUse?: ReadonlySet<Digest>;
  /** Remove names of images only that this team has brought; `keepBytes` is for what it has brought then. */
  readonly team?: string | undefined;
  /** Keep names while everything together is not larger. Without it every unused name goes. */
  readonly keepBytes?: number | undefined;
  /** Keep names that were used after this, in milliseconds since the epoch. */
  readonly keepNewerThan?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Collected {
  /** Names that are gone. */
  readonly images: readonly string[];
  readonly freedBytes: number;
  /** What is left. */
  readonly keptBytes: number;
}

export function collectGarbage(store: ContentStore, options: GarbageOptions = {}): Promise<Collected> {
  const collect = async (): Promise<Collected> => {
    const inUse = new Set([...(options.inUse ?? []), ...(await store.holds.all())]);
    const images = await store.images.list();
    const share = options.team === undefined ? undefined : await shareOf(store, options.team);
    const unused = images
      .filter((image) => isUnused(image, inUse, options) && (share?.manifests.has(image.manifest) ?? true))
      .sort((a, b) => a.lastUsed - b.lastUsed);
    const going = await enough(store, { images, unused, inUse, counted: share?.keys }, options.keepBytes);
    for (const { name } of going) await store.images.remove(name);
    const remaining = images.filter((image) => !going.includes(image));
    return { images: going.map(({ name }) => name), ...(await sweep(store, await reachable(store, remaining, inUse))) };
  };
  return store.collecting(collect, options.signal);
}

/** Removes a name, and content that nothing else needs. An image in use loses its name only. Says whether it was there. */
export function removeImage(store: ContentStore, name: string, signal?: AbortSignal): Promise<Collected | undefined> {
  const remove = async (): Promise<Collected | undefined> => {
    const images = await store.images.list();
    if (!images.some((image) => image.name === name)) return undefined;
    await store.images.remove(name);
    const remaining = images.filter((image) => image.name !== name);
    return { images: [name], ...(await sweep(store, await reachable(store, remaining, await store.holds.all()))) };
  };
  return store.collecting(remove, signal);
}

function isUnused(image: StoredImage, inUse: ReadonlySet<Digest>, { keepNewerThan = Infinity }: GarbageOptions): boolean {
  if (isOnlyHere(image) || [image.digest, image.manifest, image.id].some((digest) => inUse.has(digest))) return false;
  return keepNewerThan === Infinity || Math.max(image.since, image.lastUsed) <= keepNewerThan;
}

interface Candidates {
  readonly images: readonly StoredImage[];
  readonly unused: readonly StoredImage[];
  readonly inUse: ReadonlySet<Digest>;
  /** What counts; undefined: everything. */
  readonly counted: ReadonlySet<Key> | undefined;
}

/** What a team has brought. */
async function shareOf(store: ContentStore, team: string): Promise<{ manifests: ReadonlySet<Digest>; keys: ReadonlySet<Key> }> {
  const shares = await store.shares.of(team);
  const keys = shares.flatMap(({ parts }) => parts.flatMap(({ chainId, blob }): Key[] => [`layer:${chainId}`, `blob:${blob}`]));
  return { manifests: new Set(shares.map(({ manifest }) => manifest)), keys: new Set(keys) };
}

/** As many of the unused as must go for the rest to fit. */
async function enough(
  store: ContentStore,
  { images, unused, inUse, counted }: Candidates,
  keepBytes: number | undefined,
): Promise<StoredImage[]> {
  if (keepBytes === undefined) return [...unused];
  const sizes = (await sizesOf(store)).filter(({ key }) => counted?.has(key) ?? true);
  const going: StoredImage[] = [];
  for (const next of unused) {
    const live = await reachable(
      store,
      images.filter((image) => !going.includes(image)),
      inUse,
    );
    const bytes = sizes.filter(({ key }) => live.has(key)).reduce((sum, { size }) => sum + size, 0);
    if (bytes <= keepBytes) break;
    going.push(next);
  }
  return going;
}

/** Blobs and layers have different names for different things, so one set can hold both: `blob:…`, `layer:…`. */
type Key = `blob:${Digest}` | `layer:${Digest}`;

async function reachable(store: ContentStore, images: readonly StoredImage[], inUse: ReadonlySet<Digest>): Promise<ReadonlySet<Key>> {
  const live = new Set<Key>();
  for (const image of images) {
    live.add(`blob:${image.digest}`);
    await markManifest(store, image.manifest, live, isOnlyHere(image));
  }
  for (const digest of inUse) await markAny(store, digest, live);
  return live;
}

async function markManifest(store: ContentStore, digest: Digest, live: Set<Key>, keepLayerBlobs: boolean): Promise<void> {
  live.add(`blob:${digest}`);
  const text = await store.blobs.read(digest);
  const manifest = text === undefined ? undefined : parseManifest(text, digest);
  if (manifest?.kind !== "manifest") return;
  live.add(`blob:${manifest.config.digest}`);
  for (const { chainId, blob } of (await readParts(store, digest))?.layers ?? []) {
    live.add(`layer:${chainId}`);
    // A compressed layer has done its work when it is unpacked; if it is ever needed again the registry has it.
    if (keepLayerBlobs || !(await store.layers.has(chainId))) live.add(`blob:${blob.digest}`);
  }
}

/** Marks what belongs to the digest of an index, a manifest or a config, whether or not a name leads there. */
async function markAny(store: ContentStore, digest: Digest, live: Set<Key>): Promise<void> {
  const text = await store.blobs.read(digest);
  if (text === undefined) return;
  live.add(`blob:${digest}`);
  if (text.includes('"diff_ids"')) {
    for (const chainId of chainIds(parseConfig(text, digest))) live.add(`layer:${chainId}`);
    return;
  }
  const parsed = parseManifest(text, digest);
  if (parsed.kind === "manifest") await markManifest(store, digest, live, false);
  else for (const { digest: member } of parsed.manifests) await markManifest(store, member, live, false);
}

async function sizesOf(store: ContentStore): Promise<{ key: Key; size: number }[]> {
  const [blobs, layers] = await Promise.all([store.blobs.list(), store.layers.list()]);
  return [
    ...blobs.map(({ digest, size }) => ({ key: `blob:${digest}` as const, size })),
    ...layers.map(({ chainId, bytes }) => ({ key: `layer:${chainId}` as const, size: bytes })),
  ];
}

async function sweep(store: ContentStore, live: ReadonlySet<Key>): Promise<{ freedBytes: number; keptBytes: number }> {
  let freedBytes = 0;
  let keptBytes = 0;
  for (const { digest, size } of await store.blobs.list()) {
    if (live.has(`blob:${digest}`)) keptBytes += size;
    else {
      await store.blobs.remove(digest);
      freedBytes += size;
    }
  }
  for (const { chainId, bytes } of await store.layers.list()) {
    if (live.has(`layer:${chainId}`)) keptBytes += bytes;
    else {
      await store.layers.remove(chainId);
      freedBytes += bytes;
    }
  }
  await store.shares.tidy();
  return { freedBytes, keptBytes };
}
