/**
 * Images on this machine, as the node agent and the command line use them.
 *
 * - reference.ts, digest.ts, platform.ts: what images are called; manifest.ts, image-config.ts: what describes them
 * - registry/: the client of registries; pull.ts: from there into the store; resolve-digest.ts: what a tag means today; read-command.ts: what
 *   an image runs; fetch-manifest.ts, kept-answers.ts: what these share
 * - import/: from files into the store; add-layers.ts: what both share
 * - checkpoint/: from containers into the store, and from the store into files
 * - layer/: archives and folders; content-store/: what is kept on disk
 * - host-image.ts: the pseudo image; image-error.ts: everything that can go wrong
 */
import type { Random } from "#lib/backoff.ts";
import type { Clock } from "#lib/clock.ts";
import { collectGarbage, type Collected, type GarbageOptions, removeImage } from "./content-store/collect-garbage.ts";
import { ContentStore, type ContentStoreOptions } from "./content-store/content-store.ts";
import { readParts, readyImage } from "./content-store/image-parts.ts";
import { type ImportedParts, withImportedParts } from "./content-store/imported-parts.ts";
import { isOnlyHere, type StoredImage } from "./content-store/image-records.ts";
import type { TeamBudget } from "./content-store/team-shares.ts";
import type { Digest } from "./digest.ts";
import { type ImageConfig, isOnHost } from "./image-config.ts";
import type { HostImage } from "./host-image.ts";
import { ImageError, isImageError } from "./image-error.ts";
import { exportImage } from "./checkpoint/export-image.ts";
import { findCheckpoint, listCheckpoints, nameOf } from "./checkpoint/checkpoint-names.ts";
import { type CheckpointToSave, saveCheckpoint, type SavedCheckpoint } from "./checkpoint/save-checkpoint.ts";
import { baseLabel, isCheckpointImage } from "#model/checkpoint-image.ts";
import { importImages, type ImportOptions } from "./import/import-image.ts";
import { importRootfs, type RootfsOptions } from "./import/import-rootfs.ts";
import { formatPlatform, machinePlatform, type Platform } from "./platform.ts";
import type { OnProgress } from "./progress.ts";
import { fetchBlob, pullImage } from "./pull.ts";
import { canonicalName, formatReference, type ImageReference, parseReference, type RegistryReference } from "./reference.ts";
import type { RegistryClient } from "./registry/client.ts";
import { anonymous, type PullSecret } from "./registry/pull-secret.ts";
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
  /** For which team, and how much its images may take; left out: for no team. A checkpoint of another team is not there. */
  readonly budget?: TeamBudget | undefined;
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

  /** The image, unpacked. A caller that uses it must `hold` it before the next garbage collection. */
  async ensure(reference: string, options: EnsureOptions): Promise<ResolvedImage> {
    const parsed = parseReference(reference);
    if (parsed.kind === "host") return this.#host(parsed).prepare(options.signal);
    const local = await this.#local(parsed, options);
    if (local !== undefined) return local;
    // No registry has this name; to ask for it would only tell others about it.
    if (isCheckpointImage(reference)) throw new ImageError("not_found", `there is no image ${reference}`);
    if (options.pullPolicy === "Never") {
      const why = "is not on this machine, or was not shown to these credentials, and its pull policy is Never";
      throw new ImageError("not_present", `${formatReference(parsed)} ${why}`);
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
    return record !== undefined && isOnlyHere(record) ? record.digest : undefined;
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

  /** Keeps what a container has changed as an image of its own; one of this name that is here already is found. */
  saveCheckpoint(wanted: CheckpointToSave, signal?: AbortSignal): Promise<SavedCheckpoint> {
    const { host } = this.#deps;
    return saveCheckpoint({ store: this.#store, platform: this.#platform, host }, wanted, signal);
  }

  /** The names of all checkpoints, without digests. */
  async checkpoints(): Promise<readonly string[]> {
    return (await listCheckpoints(this.#store)).map(nameOf);
  }

  /** Takes a checkpoint away, and content that nothing else uses; what containers run stays. Says whether it was there. */
  async removeCheckpoint(name: string, signal?: AbortSignal): Promise<boolean> {
    const found = await findCheckpoint(this.#store, name);
    return found !== undefined && (await removeImage(this.#store, found.record.name, signal)) !== undefined;
  }

  /** Writes the image into an OCI layout; layers that were thrown away after unpacking are fetched again. */
  async export(
    reference: string,
    folder: string,
    options: { readonly pullSecrets?: readonly PullSecret[]; readonly signal?: AbortSignal },
  ) {
    const parsed = parseReference(reference);
    const record = await this.#store.images.find(parsed);
    if (record === undefined) throw new ImageError("not_present", `${formatReference(parsed)} is not on this machine`);
    const { client, clock, random } = this.#deps;
    const { pullSecrets = [], signal } = options;
    const labels = (await readParts(this.#store, record.manifest))?.config.config.labels ?? {};
    const origin = parseReference(labels[baseLabel] ?? record.name);
    await exportImage(this.#store, record, folder, {
      name: reference,
      signal,
      fetch: async ({ blob }) => {
        if (origin.kind === "host")
          throw new ImageError("broken_content", `the layer ${blob.digest} of ${record.name} is not on this machine`);
        const repository = client.open(origin, pullSecrets);
        await fetchBlob({ store: this.#store, clock, random }, { repository, registry: origin.registry }, blob, { signal });
      },
    });
  }

  /** Runs `work` on the images that no registry has; nothing of the store is removed meanwhile. */
  withImported<T>(work: (parts: ImportedParts) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return withImportedParts(this.#store, work, signal);
  }

  gc(options: GarbageOptions = {}): Promise<Collected> {
    return collectGarbage(this.#store, options);
  }

  /** What each team's pods have brought here, in bytes on the disk. */
  async usedByTeams(): Promise<ReadonlyMap<string, number>> {
    const used = new Map<string, number>();
    for (const team of await this.#store.shares.teams()) used.set(team, await this.#store.shares.usedBytes(team));
    return used;
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
    // Names are no secret: the node does not rely on the checks of those that write pods.
    if (record.source === "checkpoint" && record.team !== undefined && record.team !== options.budget?.team) {
      throw new ImageError("not_found", `there is no image ${formatReference(reference)}`);
    }
    // An imported image is in no registry: no registry can be asked, and every tenant may use it.
    if (record.source === "registry" && !(await this.#isShown(record, reference, options))) return undefined;
    const image = await readyImage(this.#store, record);
    if (image !== undefined) await this.#store.images.touch(record.name, this.#deps.clock.now());
    return image === undefined || record.source !== "checkpoint" ? image : this.#onItsBase(image, options.signal);
  }

  /** A checkpoint of `host` is on top of the machine as it is now. */
  async #onItsBase(image: ResolvedImage, signal: AbortSignal | undefined): Promise<ResolvedImage> {
    if (!isOnHost(image.config) || this.#deps.host === undefined) return image;
    const { layers } = await this.#deps.host.prepare(signal);
    return { ...image, kind: "host", layers: [...image.layers, ...layers] };
  }

  /**
   * Whether the registry shows this image to the caller: now, or once before to the same credentials. False: the name means another
   * image by now, or the registry no longer has this one. Throws the registry's error if the caller may not see it.
   */
  async #isShown(record: StoredImage, reference: RegistryReference, options: EnsureOptions): Promise<boolean> {
    const { pullPolicy, pullSecrets = [], signal } = options;
    const isKnown = [anonymous, ...this.#deps.client.identities(reference, pullSecrets)].some((one) => record.shownTo?.includes(one));
    if (isKnown && pullPolicy !== "Always") return true;
    if (pullPolicy === "Never") return false;
    const asksForTag = pullPolicy === "Always" && reference.digest === undefined;
    const repository = this.#deps.client.open(reference, pullSecrets);
    const asked = asksForTag ? (reference.tag ?? "latest") : (reference.digest ?? record.digest);
    const digest = await repository.resolve(asked, signal).catch((error: unknown) => {
      // Registries throw away what no tag leads to; the tag may lead to something else.
      if (!isImageError(error, "not_found") || reference.digest !== undefined) throw error;
      return undefined;
    });
    if (digest !== record.digest && digest !== record.manifest) return false;
    const { lastUsed: _, ...stored } = record;
    await this.#store.images.put({ ...stored, shownTo: [repository.identity] });
    return true;
  }

  async #pull(
    reference: RegistryReference,
    options: Omit<EnsureOptions, "pullPolicy"> & { readonly platform?: Platform },
  ): Promise<ResolvedImage> {
    const { client, clock, random } = this.#deps;
    const { pullSecrets: secrets = [], platform = this.#platform, ...rest } = options;
    const record = await pullImage({ store: this.#store, client, clock, random }, reference, { ...rest, platform, secrets });
    const image = await readyImage(this.#store, record);
    if (image === undefined) throw new ImageError("storage", `${record.name} was removed while it was being pulled`);
    return image;
  }

  async #stored(adding: Promise<readonly { readonly name: string }[]>): Promise<StoredImage[]> {
    const names = new Set((await adding).map(({ name }) => name));
    return (await this.#store.images.list()).filter(({ name }) => names.has(name));
  }
}
