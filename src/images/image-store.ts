/**
 * Images on this machine, as the node agent and the command line use them.
 *
 * - reference.ts, digest.ts, platform.ts: what images are called; manifest.ts, image-config.ts: what describes them
 * - registry/: the client of registries; pull.ts: from there into the store; resolve-digest.ts: what a tag means today; read-command.ts: what
 *   an image runs; fetch-manifest.ts, kept-answers.ts: what these share
 * - import/: from files into the store; add-layers.ts: what both share
 * - layer/: archives and folders; content-store/: what is kept on disk
 * - host-image.ts: the pseudo image; image-error.ts: everything that can go wrong
 */
import type { Random } from "#lib/backoff.ts";
import type { Clock } from "#lib/clock.ts";
import { collectGarbage, type Collected, type GarbageOptions, removeImage } from "./content-store/collect-garbage.ts";
import { ContentStore, type ContentStoreOptions } from "./content-store/content-store.ts";
import { readParts, readyImage } from "./content-store/image-parts.ts";
import type { StoredImage } from "./content-store/image-records.ts";
import type { Digest } from "./digest.ts";
import type { ImageConfig } from "./image-config.ts";
import type { HostImage } from "./host-image.ts";
import { ImageError } from "./image-error.ts";
import { importImages, type ImportOptions } from "./import/import-image.ts";
import { importRootfs, type RootfsOptions } from "./import/import-rootfs.ts";
import { formatPlatform, machinePlatform, type Platform } from "./platform.ts";
import type { OnProgress } from "./progress.ts";
import { pullImage } from "./pull.ts";
import { canonicalName, formatReference, type ImageReference, parseReference, type RegistryReference } from "./reference.ts";
import type { RegistryClient } from "./registry/client.ts";
import type { PullSecret } from "./registry/pull-secret.ts";
import type { ResolvedImage } from "./resolved-image.ts";

export interface ImageStoreDeps {
  readonly folder: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly client: RegistryClient;
  /** Without it the pseudo image `host` is refused. */
  readonly host?: HostImage | undefined;
  readonly platform?: Platform;
  readonly limits?: ContentStoreOptions["limits"];
}

/** The kubelet's: `Always` asks the registry what the name means now, and fetches only what is not here. */
export type PullPolicy = "Always" | "IfNotPresent" | "Never";

export interface EnsureOptions {
  readonly pullPolicy: PullPolicy;
  readonly pullSecrets?: readonly PullSecret[];
  readonly onProgress?: OnProgress | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** An image in the list of what is here. */
export interface ListedImage extends StoredImage {
  /** `linux/amd64`. */
  readonly platform: string;
  /** Unpacked, with what it shares with others. */
  readonly bytes: number;
}

export class ImageStore implements AsyncDisposable {
  readonly #deps: ImageStoreDeps;
  readonly #platform: Platform;
  readonly #store: ContentStore;

  private constructor(deps: ImageStoreDeps, store: ContentStore) {
    this.#deps = deps;
    this.#platform = deps.platform ?? machinePlatform();
    this.#store = store;
  }

  static async open(deps: ImageStoreDeps): Promise<ImageStore> {
    const { folder, clock, limits } = deps;
    return new ImageStore(deps, await ContentStore.open({ folder, clock, ...(limits === undefined ? {} : { limits }) }));
  }

  /** The image, unpacked. Whoever uses it must say so with `hold` before a garbage collection can come. */
  async ensure(reference: string, options: EnsureOptions): Promise<ResolvedImage> {
    const parsed = parseReference(reference);
    if (parsed.kind === "host") return this.#host(parsed).prepare(options.signal);
    const local = await this.#local(parsed, options);
    if (local !== undefined) return local;
    if (options.pullPolicy === "Never") {
      throw new ImageError("not_present", `${formatReference(parsed)} is not on this machine, and its pull policy is Never`);
    }
    return this.#pull(parsed, options);
  }

  /** Fetches the image even if it is here. */
  async pull(reference: string, options: Omit<EnsureOptions, "pullPolicy"> & { readonly platform?: Platform }): Promise<ResolvedImage> {
    const parsed = parseReference(reference);
    if (parsed.kind === "host") throw new ImageError("invalid_reference", "host is the machine itself; there is nothing to pull");
    return this.#pull(parsed, options);
  }

  import(
    source: string | AsyncIterable<Buffer>,
    options: Omit<ImportOptions, "platform"> & { readonly platform?: Platform },
  ): Promise<StoredImage[]> {
    return this.#stored(importImages(this.#store, source, { platform: this.#platform, ...options }));
  }

  importRootfs(folder: string, options: Omit<RootfsOptions, "platform">): Promise<StoredImage[]> {
    return this.#stored(importRootfs(this.#store, folder, { ...options, platform: this.#platform }).then((record) => [record]));
  }

  /** The digest of an image that only this machine has: imported, or `host`. Undefined for all others. */
  async localDigest(reference: ImageReference): Promise<Digest | undefined> {
    if (reference.kind === "host") return this.#host(reference).digest();
    const record = await this.#store.images.find(reference);
    return record?.source === "import" ? record.digest : undefined;
  }

  /** The config of an image that is on this machine, at this very digest if the reference has one. Undefined for all others. */
  async localConfig(reference: ImageReference, signal?: AbortSignal): Promise<ImageConfig | undefined> {
    if (reference.kind === "host") return (await this.#host(reference).prepare(signal)).config;
    const record = await this.#store.images.find(reference);
    return record === undefined ? undefined : (await readParts(this.#store, record.manifest))?.config.config;
  }

  async list(): Promise<ListedImage[]> {
    const [images, layers] = await Promise.all([this.#store.images.list(), this.#store.layers.list()]);
    const sizes = new Map(layers.map(({ chainId, bytes }) => [chainId, bytes]));
    return Promise.all(
      images.map(async (image) => {
        const parts = await readParts(this.#store, image.manifest);
        const bytes = (parts?.layers ?? []).reduce((sum, { chainId }) => sum + (sizes.get(chainId) ?? 0), 0);
        return { ...image, platform: parts === undefined ? "" : formatPlatform(parts.config.platform), bytes };
      }),
    );
  }

  /** Takes the name away, and content that nothing else uses. Fails if there is no such image. */
  async remove(reference: string, signal?: AbortSignal): Promise<Collected> {
    const name = canonicalName(parseReference(reference));
    const removed = await removeImage(this.#store, name, signal);
    if (removed === undefined) throw new ImageError("not_present", `${name} is not on this machine`);
    return removed;
  }

  gc(options: GarbageOptions = {}): Promise<Collected> {
    return collectGarbage(this.#store, options);
  }

  /** From now on `owner` uses exactly these images, by digest or id. It stays so when the process ends. */
  hold(owner: string, digests: Iterable<Digest>): Promise<void> {
    return this.#store.holds.set(owner, digests);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store[Symbol.asyncDispose]();
  }

  #host(reference: ImageReference): HostImage {
    if (this.#deps.host !== undefined) return this.#deps.host;
    throw new ImageError("unsupported", `${formatReference(reference)} is the machine itself, which is not offered as an image here`);
  }

  /** What is here already, if it will do. */
  async #local(reference: RegistryReference, options: EnsureOptions): Promise<ResolvedImage | undefined> {
    const record = await this.#store.images.find(reference);
    if (record === undefined) return undefined;
    // An imported image is in no registry: there is nobody to ask.
    const mustAsk = options.pullPolicy === "Always" && record.source === "registry";
    if (mustAsk && ![record.digest, record.manifest].includes(await this.#remoteDigest(reference, options))) return undefined;
    const image = await readyImage(this.#store, record);
    if (image !== undefined) await this.#store.images.touch(record.name, this.#deps.clock.now());
    return image;
  }

  #remoteDigest(reference: RegistryReference, { pullSecrets = [], signal }: EnsureOptions): Promise<Digest> {
    return this.#deps.client.open(reference, pullSecrets).resolve(reference.digest ?? reference.tag ?? "latest", signal);
  }

  async #pull(
    reference: RegistryReference,
    options: Omit<EnsureOptions, "pullPolicy"> & { readonly platform?: Platform },
  ): Promise<ResolvedImage> {
    const { client, clock, random } = this.#deps;
    const { pullSecrets: secrets = [], platform = this.#platform, onProgress, signal } = options;
    const record = await pullImage({ store: this.#store, client, clock, random }, reference, { platform, secrets, onProgress, signal });
    const image = await readyImage(this.#store, record);
    if (image === undefined) throw new ImageError("storage", `${record.name} was removed while it was being pulled`);
    return image;
  }

  async #stored(adding: Promise<readonly { readonly name: string }[]>): Promise<StoredImage[]> {
    const names = new Set((await adding).map(({ name }) => name));
    return (await this.#store.images.list()).filter(({ name }) => names.has(name));
  }
}
