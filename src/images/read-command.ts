/**
 * What an image runs by itself, read from its config without pulling it. What a digest means never changes, so it is asked for once; an
 * image that this machine has is not asked for at all.
 */
import { parseDigest } from "./digest.ts";
import { checkConfigSize, fetchManifest } from "./fetch-manifest.ts";
import { type ImageCommand, type ImageConfig, parseConfig } from "./image-config.ts";
import { ImageError } from "./image-error.ts";
import { KeptAnswers } from "./kept-answers.ts";
import { type Descriptor, type ImageIndex, manifestFor } from "./manifest.ts";
import { choosePlatform, machinePlatform, type Platform } from "./platform.ts";
import { formatReference, type ImageReference, parseReference, repositoryName } from "./reference.ts";
import { BlobInMemory, downloadBlob } from "./registry/download.ts";
import type { RegistryClient } from "./registry/client.ts";
import type { PullSecret } from "./registry/pull-secret.ts";
import type { RetryDeps } from "./registry/retry.ts";
import { answerKey } from "./resolve-digest.ts";

export interface CommandReader {
  /** Of the image at this digest, whatever its tag means by now. Throws ImageError. */
  commandOf(reference: string, digest: string, options?: CommandOptions): Promise<ImageCommand>;
}

export interface CommandOptions {
  readonly pullSecrets?: readonly PullSecret[];
  readonly signal?: AbortSignal;
}

export interface CommandReaderDeps extends RetryDeps {
  readonly client: RegistryClient;
  /** The config of an image that this machine has at the reference's digest; undefined for all others. */
  readonly localConfig?: (reference: ImageReference) => Promise<ImageConfig | undefined>;
  /** For which an image of several platforms is read, if it is there for that; this machine's when left out. */
  readonly platform?: Platform;
}

export class CachingCommandReader implements CommandReader {
  readonly #deps: CommandReaderDeps;
  readonly #answers: KeptAnswers<ImageCommand>;

  constructor(deps: CommandReaderDeps) {
    this.#deps = deps;
    this.#answers = new KeptAnswers({ clock: deps.clock, ttlMs: Number.POSITIVE_INFINITY });
  }

  async commandOf(reference: string, digest: string, { pullSecrets = [], signal }: CommandOptions = {}): Promise<ImageCommand> {
    const parsed: ImageReference = { ...parseReference(reference), digest: parseDigest(digest, `the digest of ${reference}`) };
    const key = answerKey([repositoryName(parsed), digest], pullSecrets);
    return this.#answers.get(key, (untilLeft) => this.#read(parsed, pullSecrets, untilLeft), signal);
  }

  async #read(reference: ImageReference, pullSecrets: readonly PullSecret[], signal: AbortSignal): Promise<ImageCommand> {
    const { entrypoint, cmd } = (await this.#deps.localConfig?.(reference)) ?? (await this.#remote(reference, pullSecrets, signal));
    return { entrypoint, cmd };
  }

  async #remote(reference: ImageReference, pullSecrets: readonly PullSecret[], signal: AbortSignal): Promise<ImageConfig> {
    if (reference.kind === "host") throw new ImageError("unsupported", "host is the machine itself, which is not offered as an image here");
    const { client, platform = machinePlatform() } = this.#deps;
    const repository = client.open(reference, pullSecrets);
    const choose = (index: ImageIndex, what: string): Descriptor => likelyManifest(index, platform, what);
    const { manifest } = await fetchManifest(repository, { reference, choose, signal });
    checkConfigSize(manifest.config);
    const writer = new BlobInMemory();
    await downloadBlob(this.#deps, { repository, descriptor: manifest.config, writer }, { signal });
    return parseConfig(writer.content, `the config of ${formatReference(reference)}`).config;
  }
}

/** Nodes may have another processor than we: an image that is not there for ours says by any of its manifests what it runs. */
function likelyManifest(index: ImageIndex, platform: Platform, what: string): Descriptor {
  const other = index.manifests.find((item) => item.platform?.os === platform.os);
  return choosePlatform(index.manifests, platform) ?? other ?? manifestFor(index, platform, what);
}
